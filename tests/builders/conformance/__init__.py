"""The real descheduler beside `trimtab.policy`: generated clusters, compared cycle by cycle.

`run.run_sessions` is the whole: it records what the real one did; `compare` judges a recording,
`coverage` says which rules it touched, `mutants` are wrong variants that must be noticed.
"""
