"""Scores of NumPy arrays: the samples of a window in, a number for each node out."""
