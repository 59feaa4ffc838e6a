"""`trimtab advisor`."""
