"""Availability that was promised: who has had how much of it, and who is served first.

`ledger`, `promise` and `queue` decide and ask nobody; `tracking` watches, `page` shows, `service`
writes and serves. The scheduler's plugin only compares the stamps made here.
"""
