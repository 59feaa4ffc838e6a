"""What to do next about a VM. Pure."""
