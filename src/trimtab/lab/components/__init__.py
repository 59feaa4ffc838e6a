"""Descriptions of what a lab runs: control plane, kwok, scheduler, identities."""
