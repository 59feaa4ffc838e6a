"""An explanation as a person reads it: the verdict, nodes, pods, and what would change it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from trimtab.model.snapshot import Snapshot
from trimtab.observe.look import Look
from trimtab.policy.snapshot_view import policy_of
from trimtab.truth.explain.explanation import Explanation, RunExplained
from trimtab.truth.explain.nodes import NodeExplained
from trimtab.truth.explain.pods import PodExplained
from trimtab.truth.explain.remarks import InFlightReport, in_flight_report
from trimtab.truth.lint.finding import DOCS
from trimtab.view.terminal import say, show_table, tell

SHOWN = 20
CHANGES = 5


def show_explanation(explanation: Explanation, *, everything: bool = False) -> None:
    """All of it; `everything` lists every node and pod instead of the interesting ones."""
    tell(explanation.verdict)
    for remark in explanation.remarks:
        tell(remark)
    _changes(explanation)
    for run in explanation.runs:
        _run(run, everything)
    tell()
    tell(in_flight_text(explanation.in_flight))
    for note in explanation.notes:
        tell(f"note: {note}")
    tell(_lint_line(explanation))


def _lint_line(explanation: Explanation) -> str:
    """The hand-over: what lint knows of the same snapshot."""
    problems = [found for found in explanation.findings if found.severity != "note"]
    if not problems:
        return "lint finds no problem in this policy and cluster."
    what = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    pages = {found.id: found.docs for found in problems}
    page = next(iter(pages.values())) if len(pages) == 1 else DOCS
    return f"lint finds {what}: {', '.join(pages)}. Why, and the cure: {page}"


def _changes(explanation: Explanation) -> None:
    if explanation.evictions or (explanation.skipped is None and not explanation.runs):
        return
    changes = explanation.changes
    tell()
    if not changes:
        if any(run.error for run in explanation.runs) and explanation.findings:
            return
        tell("No single change of a threshold, limit, setting, sample, taint or mark would do.")
        return
    smallest = changes[0]
    pods = "1 pod" if smallest.evictions == 1 else f"{smallest.evictions} pods"
    tell(f"Smallest change that evicts ({pods}): {smallest.what}.")
    if others := changes[1:]:
        tell("Any one of these would do as well:")
        for change in others[:CHANGES]:
            tell(f"  - {change.what}")
        if len(others) > CHANGES:
            tell(f"  … and {len(others) - CHANGES} more (--json has all)")


def _run(run: RunExplained, everything: bool) -> None:
    tell()
    tell(f"{run.plugin} of profile {run.profile or '(no name)'}")
    for line in _figures(run):
        tell(f"  {line}")
    _nodes(run.nodes, everything)
    if run.evictions:
        rows = [
            (f"{e.namespace}/{e.name}", e.node, "background" if e.background else "at once", e.why)
            for e in run.evictions
        ]
        tell()
        show_table(["would go", "from", "how", "why this one"], rows, drop=["how"])
    _pods(run.pods, everything)


def _figures(run: RunExplained) -> Iterator[str]:
    for resource, high in run.high.items():
        mean = f"mean {run.average[resource]:.2f}, " if resource in run.average else ""
        room = f", headroom {run.headroom[resource]}" if resource in run.headroom else ""
        yield f"{resource}: {mean}under up to {run.low[resource]:.2f}, over above {high:.2f}{room}"


def _nodes(nodes: Sequence[NodeExplained], everything: bool) -> None:
    if not nodes:
        return
    shown = nodes if everything else nodes[:SHOWN]
    rows = [(n.name, _class(n), _usage(n), _distance(n), _then(n)) for n in shown]
    tell()
    columns = ["node", "class", "usage", "distance", "then"]
    show_table(columns, rows, right=["usage"], whole=["distance", "class"], drop=["usage"])
    if len(nodes) > len(shown):
        tell(f"… and {len(nodes) - len(shown)} more nodes (--all shows them)")


def _class(node: NodeExplained) -> str:
    return " or ".join(node.possible) if node.possible else node.node_class


def _usage(node: NodeExplained) -> str:
    known = [(r, d) for r, d in node.distances.items() if d.percent is not None]
    if len(known) == 1:
        return f"{known[0][1].percent:.0f} %"
    return ", ".join(f"{r} {d.percent:.0f} %" for r, d in known)


def _distance(node: NodeExplained) -> str:
    """Points to the nearest threshold on each side."""
    if not node.distances:
        return ""
    if node.node_class in ("over", "destination"):
        return f"{_points(node.above_high)} above high"
    if node.node_class in ("under", "source"):
        return f"{_points(-node.above_low)} below low"
    return f"{_points(-node.above_high)} to over, {_points(node.above_low)} to under"


def _points(value: float) -> str:
    """One decimal, and never a negative zero."""
    return f"{round(value, 1) + 0.0:.1f}"


def _then(node: NodeExplained) -> str:
    stop = f"{node.stop} ({node.stop_rule})" if node.stop else ""
    return "; ".join(part for part in (stop, node.note) if part)


def _pods(pods: Sequence[PodExplained], everything: bool) -> None:
    looked_at = [pod for pod in pods if pod.verdict != "not looked at"]
    shown = list(pods) if everything else looked_at[:SHOWN]
    if shown:
        rows = [(f"{p.namespace}/{p.name}", p.node, p.verdict, p.rule, _why(p)) for p in shown]
        tell()
        columns = ["pod", "node", "verdict", "rule", "why"]
        show_table(columns, rows, whole=["rule"], drop=["node"])
    if everything:
        return
    if len(looked_at) > SHOWN:
        tell(f"… and {len(looked_at) - SHOWN} more pods of these nodes (--all shows them)")
    others = Counter(f"{p.text} ({p.rule})" for p in pods if p.verdict == "not looked at")
    for text, count in others.most_common():
        tell(f"{count} {'pod was' if count == 1 else 'pods were'} not looked at: {text}")


def _why(pod: PodExplained) -> str:
    more = [reason.rule for reason in pod.reasons if reason.rule != pod.rule]
    return f"{pod.text}; also {', '.join(more)}" if more else pod.text


# What a look at a cluster found, in a few lines on stderr: the result itself is the file.


def show_look(look: Look, file: Path, *, anonymous: bool) -> None:
    """How much was seen, what is in flight, and what could not be seen."""
    snapshot = look.snapshot
    name = "anonymous snapshot" if anonymous else "snapshot"
    say(f"{name} written to {file}: {summary(snapshot)}")
    say(in_flight_text(in_flight_report(snapshot, policy_of(snapshot))))
    for note in look.notes:
        say(f"note: {note}")
    if not anonymous:
        say("it holds names of nodes, pods and labels; --anonymise replaces them")
    say(f"next: trimtab explain {file}")


def summary(snapshot: Snapshot) -> str:
    samples = len(snapshot.query.samples) if snapshot.query else 0
    parts = [f"{len(snapshot.nodes)} nodes", f"{len(snapshot.pods)} pods"]
    if snapshot.query is not None:
        empty = "no samples" if not samples else f"{samples} samples"
        parts.append("no samples: the query failed" if snapshot.query.error else empty)
    return ", ".join(parts)


def in_flight_text(report: InFlightReport) -> str:
    """Known evictions under way, and how many unseen ones the descheduler may count besides."""
    text = f"evictions in flight: {report.known} known"
    if report.marked:
        text += f", {report.marked} likely (the VM is marked, its pod does not say so yet)"
    if report.further_at_most == 0:
        return f"{text}; there can be no others"
    text += f"; the descheduler may count up to {report.further_at_most} more"
    if report.further_at_most_alone < report.further_at_most:
        text += f" ({report.further_at_most_alone} if nobody else evicts)"
    return f"{text} that it asked for in the last 20 minutes: only its memory knows"
