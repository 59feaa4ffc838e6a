"""Manifests of the closed loop's own services."""
