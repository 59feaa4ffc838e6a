"""Prometheus over HTTP: what it knows (instant, range), what it does (rules, targets)."""
