"""The policy of a run: the text it was given or the default one, and what replaces parts of it."""

from functools import lru_cache

from trimtab.policy import Policy
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.policy.file.reader import read_policy
from trimtab.sim.spec import RunSpec


@lru_cache(maxsize=64)
def _read(text: str) -> Policy:
    return read_policy(text)


def policy_of(spec: RunSpec) -> Policy:
    """What the descheduler of this run goes by; its query is the spec's score."""
    policy = _read(spec.policy or DEFAULT_POLICY)
    if spec.thresholds is not None:
        policy = policy.with_thresholds(*spec.thresholds)
    if spec.limits is not None:
        policy = policy.with_limits(*spec.limits)
    return policy
