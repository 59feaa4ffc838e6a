"""What the queue's order is worth: the same experiment with and without QosAware."""
