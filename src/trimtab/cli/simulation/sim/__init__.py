"""`trimtab sim`."""
