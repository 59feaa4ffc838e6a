"""A recorded cycle beside our own decision: agreement, chance, and the rules it touched."""
