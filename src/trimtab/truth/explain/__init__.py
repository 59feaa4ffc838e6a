"""Why a cycle evicted pods, or none, and the smallest change that would have led to an eviction."""
