"""`trimtab balance`: which VM should move where."""
