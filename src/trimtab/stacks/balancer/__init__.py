"""The balancer in a lab."""
