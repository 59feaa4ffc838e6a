"""`trimtab qos`."""
