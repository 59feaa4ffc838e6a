"""Commands that simulate, and those about what a run is made of: scenarios, scores, rules."""
