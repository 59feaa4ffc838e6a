"""`trimtab engines`."""
