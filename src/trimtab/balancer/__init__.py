"""The balancer: it watches the cluster, proposes plans, and carries them out as migrations.

`decide` is pure: from one observation, the cluster's own records and the limits it says what
happens next. Nothing that matters is kept in memory: plans are RebalancePlan objects, moves
are migrations whose names follow from the plan, so a balancer that is killed goes on where
it was and never moves a VM twice.
"""
