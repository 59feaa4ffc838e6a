"""Go and Node.js: the ones that are there, or pinned wheels of them in the cache."""
