"""Prometheus over HTTP: what it knows (instant, range), what it does (rules, targets)."""

from trimtab.prom.client import Prometheus, QueryFailed, Rule, RuleGroup, Sample, Series, Target

__all__ = ["Prometheus", "QueryFailed", "Rule", "RuleGroup", "Sample", "Series", "Target"]
