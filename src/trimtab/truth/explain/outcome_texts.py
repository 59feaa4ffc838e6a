"""The rules' outcomes in sentences, for people; the ids are those of docs/reference/policy.md."""

from trimtab.policy.cycle import Class, Outcome, Stop
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
    Outcome.NOT_TOLERATED: "no destination counts for its tolerations",
    Outcome.NAMESPACE_EXCLUDED: "its namespace is excluded",
    Outcome.PRE_EVICTION_FILTER: "it fits nowhere else, it rests, or its namespace is not selected",
    Outcome.NO_USAGE: "its usage is unknown",
    Outcome.NO_UID: "it has no uid",
    Outcome.IN_FLIGHT: "its eviction is in flight already, and takes up a slot",
    Outcome.TOTAL_LIMIT: "maxNoOfPodsToEvictTotal is reached",
    Outcome.NODE_LIMIT: "maxNoOfPodsToEvictPerNode is reached",
    Outcome.NAMESPACE_LIMIT: "maxNoOfPodsToEvictPerNamespace is reached",
    Outcome.REFUSED: "the API server refuses",
    Outcome.BACKGROUND: "it would be evicted in background: its VM migrates",
    Outcome.EVICTED: "it would be evicted",
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
