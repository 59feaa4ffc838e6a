"""What a person sees of the services in a cluster: VMs, queue, advisor, balancer."""
