"""`trimtab vm`."""
