"""What clusters need to know of the balancer."""
