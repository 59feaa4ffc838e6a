"""Ports of labs on the loopback."""
