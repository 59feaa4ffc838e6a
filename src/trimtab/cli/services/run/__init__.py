"""`trimtab run`."""
