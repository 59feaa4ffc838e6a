"""The descheduler's decisions as functions: read a policy, decide a cycle, know why.

`decide(view, policy, inflight, choose)` is the whole; its pieces are in modules named for
them (usage, assess, evict, pods/filters, pods/fit, numbers). Rule ids such as P5 or 2.1.3 refer to
docs/reference/policy.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trimtab.policy.choices import Answer, Choose, Shuffled, Tie, as_given, willing
    from trimtab.policy.cycle import (
        Class,
        Cycle,
        CycleFigures,
        Eviction,
        PluginRun,
        PodOutcome,
        Reason,
        Visit,
        VisitEnd,
    )
    from trimtab.policy.decision import decide
    from trimtab.policy.file.default import DEFAULT_POLICY, default_policy
    from trimtab.policy.file.reader import load_policy, read_policy
    from trimtab.policy.file.settings import Policy
    from trimtab.policy.inflight import InFlight, KnownEviction, PodEvent, PodState
    from trimtab.policy.numbers import NotANumberError
    from trimtab.policy.snapshot_view import SnapshotView, decide_snapshot, inflight_of, policy_of
    from trimtab.policy.view import (
        ClusterView,
        NodeView,
        PlainNode,
        PlainPod,
        PodView,
        Qos,
        QueryFailure,
        Selection,
        Traits,
        Vector,
        View,
    )

__all__ = [
    "DEFAULT_POLICY",
    "Answer",
    "Choose",
    "Class",
    "ClusterView",
    "Cycle",
    "CycleFigures",
    "Eviction",
    "InFlight",
    "KnownEviction",
    "NodeView",
    "NotANumberError",
    "PlainNode",
    "PlainPod",
    "PluginRun",
    "PodEvent",
    "PodOutcome",
    "PodState",
    "PodView",
    "Policy",
    "Qos",
    "QueryFailure",
    "Reason",
    "Selection",
    "Shuffled",
    "SnapshotView",
    "Tie",
    "Traits",
    "Vector",
    "View",
    "Visit",
    "VisitEnd",
    "as_given",
    "decide",
    "decide_snapshot",
    "default_policy",
    "inflight_of",
    "load_policy",
    "policy_of",
    "read_policy",
    "willing",
]

_NAMES = {
    "choices": ("Answer", "Choose", "Shuffled", "Tie", "as_given", "willing"),
    "cycle": (
        "Class",
        "Cycle",
        "CycleFigures",
        "Eviction",
        "PluginRun",
        "PodOutcome",
        "Reason",
        "Visit",
        "VisitEnd",
    ),
    "decision": ("decide",),
    "file.default": ("DEFAULT_POLICY", "default_policy"),
    "file.reader": ("load_policy", "read_policy"),
    "file.settings": ("Policy",),
    "inflight": ("InFlight", "KnownEviction", "PodEvent", "PodState"),
    "numbers": ("NotANumberError",),
    "snapshot_view": ("SnapshotView", "decide_snapshot", "inflight_of", "policy_of"),
    "view": (
        "ClusterView",
        "NodeView",
        "PlainNode",
        "PlainPod",
        "PodView",
        "Qos",
        "QueryFailure",
        "Selection",
        "Traits",
        "Vector",
        "View",
    ),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: who reads a policy's file needs no NumPy."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
