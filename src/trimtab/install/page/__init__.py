"""The page in a cluster: its files below k8s/page."""
