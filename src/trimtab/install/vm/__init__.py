"""Manifests of the vm-controller and the eviction webhook."""
