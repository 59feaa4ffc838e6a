"""Node metrics from virt-launcher pods, and the HTTP endpoints around them.

Everything is kept up to date as pods change; a scrape makes no API call.
"""
