"""Prometheus over HTTP: what it knows (instant, range), what it does (rules, targets)."""

from trimtab.prom.client import (
    LoadedRule,
    Prometheus,
    QueryFailed,
    RuleGroup,
    Sample,
    ScrapeTarget,
    Series,
)

__all__ = [
    "LoadedRule",
    "Prometheus",
    "QueryFailed",
    "RuleGroup",
    "Sample",
    "ScrapeTarget",
    "Series",
]
