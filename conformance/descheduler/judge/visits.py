"""One source node: which pods may go, who was looked at, what became of each, why it ended."""

from collections.abc import Iterator

from trimtab.observe.descheduler_log import LoggedPod, LoggedSource
from trimtab.policy.cycle import PodOutcome, Visit, VisitEnd
from trimtab.policy.file.settings import Plugin, Profile
from trimtab.policy.pods.filters import Filter
from trimtab.policy.view import ClusterView, PodView

_ENDS = {
    VisitEnd.PLUGIN_LIMIT: "plugin limit",
    VisitEnd.ONE_POD: "one pod",
    VisitEnd.NO_CANDIDATES: "no removable pods",
}
_UNLOGGED = (PodOutcome.NAMESPACE_EXCLUDED, PodOutcome.NO_UID)
"""They leave no line in the log."""
_UNNAMED = (PodOutcome.TOTAL_LIMIT, PodOutcome.NODE_LIMIT)
_OF_CLAIMS = "2.1.4.PodsWithPVC"


def visit_problems(
    visit: Visit, source: LoggedSource, view: ClusterView, profile: Profile, plugin: Plugin
) -> Iterator[str]:
    """Where a visit of ours differs from the logged one."""
    counts = len(view.pods_on(visit.node)), sum(len(equals) for equals in visit.candidates)
    if counts != (source.all_pods, source.removable):
        yield f"pods, removable: ours {counts}, real {source.all_pods, source.removable}"
    yield from _kept(source, view, profile)
    ours, real = list(_notes(visit)), [(n.outcome, _named(n)) for n in source.notes]
    if ours != real:
        yield f"pods looked at: ours {_told(ours)}, real {_told(real)}"
    if _ENDS.get(visit.stop, "") != source.ended:
        yield f"ended: ours {visit.stop}, real {source.ended!r}"


def _notes(visit: Visit) -> Iterator[tuple[PodOutcome, str]]:
    for step in visit.steps:
        if step.outcome not in _UNLOGGED:
            yield step.outcome, "" if step.outcome in _UNNAMED else _name(step.pod)


def _named(note: LoggedPod) -> str:
    return "" if note.outcome in _UNNAMED else note.pod


def _told(notes: list[tuple[PodOutcome, str]]) -> list[str]:
    return [f"{pod} {outcome.name}".strip() for outcome, pod in notes]


def _kept(source: LoggedSource, view: ClusterView, profile: Profile) -> Iterator[str]:
    """The filter's reasons, in the descheduler's words."""
    passed = Filter(profile.evictor, view)
    ours = {_name(pod): passed.refusals(pod) for pod in view.pods_on(source.node)}
    # a pod kept by noEvictionPolicy Mandatory is not mentioned
    spoken = {n: r for n, r in ours.items() if r and r[0].rule != "2.1.2"}
    if spoken.keys() != source.kept.keys():
        yield f"kept by the filter: ours {sorted(spoken)}, real {sorted(source.kept)}"
        return
    for name, reasons in spoken.items():
        for reason in reasons:
            text = reason.text.partition(": ")[0]  # the age is told in another form
            if reason.rule != _OF_CLAIMS and text not in source.kept[name]:
                yield f"{name}: ours {reason.text!r}, real {source.kept[name]!r}"


def _name(pod: PodView) -> str:
    return f"{pod.namespace}/{pod.name}"
