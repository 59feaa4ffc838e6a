"""The rules' outcomes in sentences, for people; the ids are those of docs/reference/policy.md."""

from trimtab.model.snapshot import Snapshot
from trimtab.policy.choices import Answer, Answers, willing
from trimtab.policy.cycle import Class, PodOutcome, VisitEnd
from trimtab.policy.file.settings import HighNodeUtilization, Plugin
from trimtab.policy.view import PodView

STOPS = {
    VisitEnd.NO_CANDIDATES: "no pod passes the filter",
    VisitEnd.NOT_ABOVE_CAP: "its usage is not above its cap once both are whole numbers",
    VisitEnd.NO_HEADROOM: "the destinations have no headroom",
    VisitEnd.PLUGIN_LIMIT: "the plugin's evictionLimits.node is reached",
    VisitEnd.ONE_POD: "without evictionLimits.node one pod a node and cycle is the most",
    VisitEnd.NODE_LIMIT: "maxNoOfPodsToEvictPerNode is reached, evictions in flight included",
    VisitEnd.TOTAL_LIMIT: "maxNoOfPodsToEvictTotal is reached, evictions in flight included",
    VisitEnd.LEVELLED: "it came down to its cap, or the headroom was used up",
    VisitEnd.EXHAUSTED: "every candidate was looked at",
}
LIMITS = {VisitEnd.PLUGIN_LIMIT, VisitEnd.ONE_POD, VisitEnd.NODE_LIMIT, VisitEnd.TOTAL_LIMIT}

OUTCOMES = {
    PodOutcome.NOT_TOLERATED: "no destination counts for its tolerations",
    PodOutcome.NAMESPACE_EXCLUDED: "its namespace is excluded",
    PodOutcome.PRE_EVICTION_FILTER: (
        "it fits nowhere else, it rests, or its namespace is not selected"
    ),
    PodOutcome.NO_USAGE: "its usage is unknown",
    PodOutcome.NO_UID: "it has no uid",
    PodOutcome.IN_FLIGHT: "its eviction is in flight already, and takes up a slot",
    PodOutcome.TOTAL_LIMIT: "maxNoOfPodsToEvictTotal is reached",
    PodOutcome.NODE_LIMIT: "maxNoOfPodsToEvictPerNode is reached",
    PodOutcome.NAMESPACE_LIMIT: "maxNoOfPodsToEvictPerNamespace is reached",
    PodOutcome.REFUSED: "the API server refuses",
    PodOutcome.BACKGROUND: "it would be evicted in background: its VM migrates",
    PodOutcome.EVICTED: "it would be evicted",
}


def class_name(kind: Class, plugin: Plugin) -> str:
    """What the class means for this plugin."""
    if isinstance(plugin, HighNodeUtilization):
        return {Class.UNDER: "source", Class.OVER: "destination"}.get(kind, "neither")
    return {Class.UNDER: "under", Class.OVER: "over"}.get(kind, "appropriate")


def listed(names: tuple[str, ...] | list[str], most: int = 3) -> str:
    """`a, b, c and 4 more`."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


# What the API server would answer to an eviction, by what was seen of the VMs.
#
# The descheduler's rules know nothing of VMs; KubeVirt's webhook does. What was seen of it is
# kept in the snapshot as annotations of our own on the VM's pod, which no rule reads.
EVICTION_ANSWER = "trimtab.dev/eviction-answer"
"""`refused: why` or `evicted: why`; without it the pod's own annotations decide."""
EVACUATING = "trimtab.dev/evacuating"
"""The node that the VM is marked to leave."""


def answers_of(snapshot: Snapshot) -> Answers:
    """`willing`, but for the pods of which something else was seen."""
    told = {
        pod.uid: Answer(word)
        for pod in snapshot.pods
        if (word := pod.annotations.get(EVICTION_ANSWER, "").partition(":")[0])
        in (Answer.REFUSED.value, Answer.EVICTED.value)
    }

    def answer(pod: PodView) -> Answer:
        return told.get(pod.uid) or willing(pod)

    return answer


def refusal_of(snapshot: Snapshot, uid: str) -> str:
    """Why the API server would refuse, or empty."""
    for pod in snapshot.pods:
        word, _, why = pod.annotations.get(EVICTION_ANSWER, "").partition(": ")
        if pod.uid == uid and word == Answer.REFUSED.value:
            return why
    return ""
