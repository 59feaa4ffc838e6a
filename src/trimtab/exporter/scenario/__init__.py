"""Scenarios that the exporter loads and shows, in a cluster or in memory."""
