"""The descheduler's decisions as functions: read a policy, decide a cycle, know why.

`decide(view, policy, inflight, choose)` is the whole; its pieces are in modules named for
them (usage, assess, evict, pods/filters, pods/fit, numbers). Rule ids such as P5 or 2.1.3 refer to
docs/reference/policy.md.
"""

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
from trimtab.policy.decide import decide
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
