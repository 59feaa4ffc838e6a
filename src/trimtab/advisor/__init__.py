"""The VirtPlatformConfig operator: plan, diff, review, apply, drift, rollback.

A profile says what it wants of the cluster (`plan/profile.py`, `profiles/`); everything else turns
this into a reviewed plan, carries it out and keeps watch over it.
"""
