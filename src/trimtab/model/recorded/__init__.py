"""A recorded cluster: its objects and its load history in one archive."""
