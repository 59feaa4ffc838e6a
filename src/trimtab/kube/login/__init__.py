"""From a kubeconfig or a service account to an authenticated connection."""
