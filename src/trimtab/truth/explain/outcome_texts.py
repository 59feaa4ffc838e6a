"""The rules' outcomes in sentences, for people; the ids are those of docs/reference/policy.md."""

from trimtab.policy.cycle import Class, PodOutcome, Stop
from trimtab.policy.file.settings import HighNodeUtilization, Plugin

STOPS = {
    Stop.NO_CANDIDATES: "no pod passes the filter",
    Stop.NOT_ABOVE_CAP: "its usage is not above its cap once both are whole numbers",
    Stop.NO_HEADROOM: "the destinations have no headroom",
    Stop.PLUGIN_LIMIT: "the plugin's evictionLimits.node is reached",
    Stop.ONE_POD: "without evictionLimits.node one pod a node and cycle is the most",
    Stop.NODE_LIMIT: "maxNoOfPodsToEvictPerNode is reached, evictions in flight included",
    Stop.TOTAL_LIMIT: "maxNoOfPodsToEvictTotal is reached, evictions in flight included",
    Stop.LEVELLED: "it came down to its cap, or the headroom was used up",
    Stop.EXHAUSTED: "every candidate was looked at",
}
LIMITS = {Stop.PLUGIN_LIMIT, Stop.ONE_POD, Stop.NODE_LIMIT, Stop.TOTAL_LIMIT}

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
