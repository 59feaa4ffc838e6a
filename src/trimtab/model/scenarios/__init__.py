"""Scenario files: read, checked, expanded to every node and VM, written."""
