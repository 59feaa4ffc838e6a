"""`trimtab lab`."""
