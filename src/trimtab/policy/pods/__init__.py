"""Which pods may be evicted: filters, fit, requests, taints."""
