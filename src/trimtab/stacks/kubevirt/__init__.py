"""The stack `kubevirt`: KubeVirt's own control plane, with its handlers and launchers played."""
