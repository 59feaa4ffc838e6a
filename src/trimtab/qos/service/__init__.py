"""The qos service: watches, checkpoints, stamps, Events."""
