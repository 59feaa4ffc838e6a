"""Answers from a recording: the recorded cluster in the simulator, checked first."""
