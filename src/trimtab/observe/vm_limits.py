"""What namespaces say about moving VMs: quotas without room, budgets that are not met.

A live migration is no eviction, so a PodDisruptionBudget does not forbid it; but where fewer
pods are healthy than a budget asks for, nobody should take a risk with those that are. For
the time of its copy a VM has two pods, and a ResourceQuota must have room for the second.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import convert, field
from msgspec.structs import replace

from trimtab.errors import ConfigError
from trimtab.kube.resources import Key, Kind, Object, Wire
from trimtab.model.selectors import LabelSelector, selector_of
from trimtab.model.snapshot import Match
from trimtab.observe import wire
from trimtab.observe.objects import pod_of
from trimtab.observe.vm_loads import Fate, key_of, runs_a_vm
from trimtab.policy.pods.requests import Nano, amounts, requests_of

_NANO = 10**9
_INSTANCE = "VirtualMachineInstance"


class BudgetSpec(Wire, frozen=True):
    selector: dict[str, Any] | None = None


class BudgetStatus(Wire, frozen=True):
    current_healthy: int = 0
    desired_healthy: int = 0


class DisruptionBudget(Object, frozen=True):
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


class QuotaSpec(Wire, frozen=True):
    scopes: tuple[str, ...] = ()
    scope_selector: dict[str, Any] | None = None


class QuotaStatus(Wire, frozen=True):
    hard: dict[str, str] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)


class Quota(Object, frozen=True):
    spec: QuotaSpec = QuotaSpec()
    status: QuotaStatus = QuotaStatus()


BUDGETS = Kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", DisruptionBudget)
QUOTAS = Kind("", "v1", "resourcequotas", "ResourceQuota", Quota)


def with_limits(
    fates: Mapping[Key, Fate],
    pods: Iterable[wire.Pod],
    budgets: Iterable[DisruptionBudget],
    quotas: Iterable[Quota],
) -> dict[Key, Fate]:
    """The same VMs; those that a quota or a budget holds back have the reason."""
    unmet = [(each, selector) for each in budgets if (selector := _unmet(each)) is not None]
    limiting = [each for each in quotas if not each.spec.scopes and not each.spec.scope_selector]
    held = dict(fates)
    if not unmet and not limiting:
        return held
    for pod in pods:
        key = key_of(pod)
        fate = held.get(key)
        if fate is None or fate.not_movable or not runs_a_vm(pod.metadata.labels):
            continue
        if reason := _budget_reason(pod, unmet) or _quota_reason(pod, limiting):
            held[key] = replace(fate, not_movable=reason)
    return held


def _unmet(budget: DisruptionBudget) -> LabelSelector | None:
    """Whom a budget that is not met covers; KubeVirt's own, one for each VM, do not count."""
    status = budget.status
    if status.current_healthy >= status.desired_healthy or budget.spec.selector is None:
        return None
    if any(owner.kind == _INSTANCE for owner in budget.metadata.owner_references):
        return None
    try:
        return selector_of(convert(budget.spec.selector, Match), budget.metadata.name)
    except (ConfigError, ValueError):
        return None


def _budget_reason(pod: wire.Pod, unmet: Iterable[tuple[DisruptionBudget, LabelSelector]]) -> str:
    for budget, selector in unmet:
        same = budget.metadata.namespace == pod.metadata.namespace
        if same and selector.matches(pod.metadata.labels):
            status = budget.status
            return (
                f"its PodDisruptionBudget {budget.metadata.name} has {status.current_healthy} "
                f"healthy pods and asks for {status.desired_healthy}"
            )
    return ""


def _quota_reason(pod: wire.Pod, quotas: Iterable[Quota]) -> str:
    mine = [each for each in quotas if each.metadata.namespace == pod.metadata.namespace]
    if not mine:
        return ""
    wanted = _counted(requests_of(pod_of(pod)))
    for quota in mine:
        name = quota.metadata.name
        hard, used = amounts(quota.status.hard, name), amounts(quota.status.used, name)
        for resource in sorted(hard.keys() & wanted.keys()):
            if wanted[resource] > hard[resource] - used.get(resource, 0):
                return f"the quota {name} has no room for its second pod: {resource}"
    return ""


def _counted(requests: Nano) -> Nano:
    """A pod's requests by the names that quotas count them under."""
    wanted = {f"requests.{name}": amount for name, amount in requests.items()}
    wanted.update({name: requests[name] for name in ("cpu", "memory") if name in requests})
    return wanted | {"pods": _NANO, "count/pods": _NANO}
