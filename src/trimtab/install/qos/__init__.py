"""Manifests of the qos service and of its scheduler."""
