"""Commands about what runs in a cluster: VMs, queue, advisor, balancer, and each service itself."""
