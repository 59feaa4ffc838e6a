"""Single changes to a snapshot that would have led to an eviction."""
