"""What the exporter tells about nodes: the ledger of pods, ratios, counters, the page."""
