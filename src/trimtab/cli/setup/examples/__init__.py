"""`trimtab examples`, and the files it knows."""
