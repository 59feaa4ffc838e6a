"""A user's request to refresh the plan: the annotation `look-again` gets another value.

The operator then reads the cluster again, so the plan is shown as of now. The annotation holds
any text; the status repeats it once the cluster was read. The request changes nothing of what is
wanted, so it approves nothing either.
"""

from msgspec import structs

from trimtab.advisor.decide.situation import ConfigSituation, WriteStatus
from trimtab.advisor.decide.transition import become
from trimtab.advisor.plan.plan import PlatformPlan

LOOK_AGAIN = "advisor.kubevirt.io/look-again"
"""Annotation that asks for another look at the cluster, by another value."""
MOST = 64


def is_asked(s: ConfigSituation) -> bool:
    return _asked(s) not in ("", s.status.looked_for)


def needs_plan(s: ConfigSituation) -> bool:
    """A plan under review is made again; in other phases every look compares the cluster."""
    return s.status.phase == "ReviewRequired"


def answered(s: ConfigSituation) -> WriteStatus:
    """The same plan, as of now; or on to another one.

    The same plan may have other warnings: a pool was paused meanwhile, say.
    """
    status = structs.replace(s.status, looked_for=_asked(s), looked_at=s.now)
    if not needs_plan(s):
        return WriteStatus(status)
    plan = s.seen.plan
    if isinstance(plan, PlatformPlan) and plan.plan_id == s.status.plan_id:
        return WriteStatus(structs.replace(status, items=plan.items, warnings=plan.warnings))
    return become(s, "Drafting", status=status)


def _asked(s: ConfigSituation) -> str:
    return s.config.metadata.annotations.get(LOOK_AGAIN, "")[:MOST]
