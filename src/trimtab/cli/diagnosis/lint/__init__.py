"""`trimtab lint`."""
