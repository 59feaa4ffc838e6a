"""Migrations of a replica: marked, waiting, copying, finished."""
