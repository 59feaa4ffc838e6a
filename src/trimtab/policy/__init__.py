"""The descheduler's decisions as functions: read a policy, decide a cycle, know why.

`decide(view, policy, inflight, choose)` is the whole; its pieces are in modules named for
them (numbers, usage, filters, fit, limits, evict). Rule ids such as P5 or 2.1.3 refer to
docs/reference/policy.md.
"""

from trimtab.policy.choices import Answer, Choose, Shuffled, Tie, as_given, willing
from trimtab.policy.cycle import (
    Class,
    Cycle,
    Eviction,
    Figures,
    PluginRun,
    PodOutcome,
    Reason,
    Stop,
    Visit,
)
from trimtab.policy.decide import decide
from trimtab.policy.file.default import DEFAULT_POLICY, default_policy
from trimtab.policy.file.reader import load_policy, read_policy
from trimtab.policy.file.settings import Policy
from trimtab.policy.inflight import Entry, InFlight, PodEvent, PodState
from trimtab.policy.numbers import NotANumberError
from trimtab.policy.snapshot_view import SnapshotView, decide_snapshot, inflight_of, policy_of
from trimtab.policy.view import (
    ClusterView,
    Node,
    NodeView,
    Pod,
    PodView,
    Qos,
    QueryFailed,
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
    "Entry",
    "Eviction",
    "Figures",
    "InFlight",
    "Node",
    "NodeView",
    "NotANumberError",
    "PluginRun",
    "Pod",
    "PodEvent",
    "PodOutcome",
    "PodState",
    "PodView",
    "Policy",
    "Qos",
    "QueryFailed",
    "Reason",
    "Selection",
    "Shuffled",
    "SnapshotView",
    "Stop",
    "Tie",
    "Traits",
    "Vector",
    "View",
    "Visit",
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
