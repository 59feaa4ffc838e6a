"""The descheduler's decisions as functions: read a policy, decide a cycle, know why.

`decide(view, policy, inflight, choose)` is the whole; its pieces are in modules named for
them (usage, assess, evict, pods/filters, pods/fit, numbers). Rule ids such as P5 or 2.1.3 refer to
docs/reference/policy.md.
"""
