"""Where VMs are, and where the kube-scheduler puts them."""
