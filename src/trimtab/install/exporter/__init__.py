"""Manifests of the exporter."""
