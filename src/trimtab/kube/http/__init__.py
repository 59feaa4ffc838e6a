"""HTTP on both sides: the client's transport, and the server of our services."""
