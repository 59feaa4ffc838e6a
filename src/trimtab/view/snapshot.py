"""What a look at a cluster found, in a few lines on stderr: the result itself is the file."""

from pathlib import Path

from trimtab.model.snapshot import Snapshot
from trimtab.observe.look import Look
from trimtab.policy import policy_of
from trimtab.truth.explain.inflight import InFlightReport, in_flight_report
from trimtab.view.terminal import err


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


def say(text: str) -> None:
    err.print(text, markup=False)
