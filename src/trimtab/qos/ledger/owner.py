"""Whose a pod is: the controller at the top, found by uid.

A rollout makes a new ReplicaSet but no new account, a KubeVirt pod belongs to its VM. A Job is
an account even if a CronJob made it. What the caches do not know yet is taken from the
reference; when it becomes known, the account moves.
"""

from collections.abc import Callable

from trimtab.kube.resources import ObjectMeta, OwnerReference
from trimtab.qos.ledger.account import AccountOwner

Lookup = Callable[[OwnerReference, str], ObjectMeta | None]
"""The metadata of an owner in a namespace, if it is known."""
THROUGH = frozenset(("ReplicaSet", "VirtualMachineInstance"))
DEEPEST = 5


def top_owner(pod: ObjectMeta, lookup: Lookup) -> AccountOwner:
    """The pod's account: its top controller, or the pod itself if it has none."""
    above = pod.controller
    if above is None:
        return AccountOwner(pod.uid, "Pod", pod.name, pod.namespace)
    seen: set[str] = set()
    while above.kind in THROUGH and len(seen) < DEEPEST and above.uid not in seen:
        seen.add(above.uid)
        known = lookup(above, pod.namespace)
        if known is None or known.uid != above.uid or known.controller is None:
            break
        above = known.controller
    return AccountOwner(above.uid, above.kind, above.name, pod.namespace, above.api_version)
