"""Scores as Prometheus knows them: expressions, recording rules, alerts, rule files."""
