"""Experiments on running schedulers whose results the guides quote."""
