"""Availability that was promised: who has had how much of it, and who is served first.

The pure part is `slo`, `ttv`, `key`, `incarnation`, `account` and `page`; the rest watches,
writes and serves. The scheduler's plugin only compares the stamps made here.
"""
