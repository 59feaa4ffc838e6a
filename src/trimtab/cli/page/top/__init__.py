"""`trimtab top`."""
