"""Many simulations: a grid of them, their statistics, and a report that a browser opens offline.

Needs the extra `study` (joblib, Polars, Jinja2), imported only where it is used.
"""
