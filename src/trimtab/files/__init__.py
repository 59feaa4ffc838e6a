"""Files: written whole or not at all, locked while used, and YAML in one hand.

The lowest room but errors, so that every other may use it; it knows nothing of trimtab.
"""
