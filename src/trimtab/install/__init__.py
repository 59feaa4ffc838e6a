"""What each service needs in a cluster: definitions, rights, admission, alerts, manifests."""
