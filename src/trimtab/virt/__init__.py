"""KubeVirt's rules, once: simulator, controller, snapshots and stacks decide by them. Pure."""
