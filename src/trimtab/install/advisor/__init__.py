"""Manifests of the advisor."""
