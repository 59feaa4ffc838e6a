"""What people and programs read: the page, its API, metrics."""
