"""`trimtab record`, `replay` and `whatif`."""
