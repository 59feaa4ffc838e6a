"""`trimtab doctor`."""
