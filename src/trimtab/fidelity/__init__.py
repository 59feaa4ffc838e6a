"""The same scenario in a lab and in the simulator, cycle by cycle and as a whole."""
