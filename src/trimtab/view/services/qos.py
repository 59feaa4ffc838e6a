"""The queue, an explanation and a history as a person reads them; the page shows itself."""

from collections.abc import Sequence
from typing import Any

from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.page.text import duration
from trimtab.qos.queue.overbooking import Advice, shortage
from trimtab.qos.queue.waiting import QueueExplanation, Waiter
from trimtab.view.terminal import err, out, show_table

TIERS = ("urgent", "waiting", "carefree")


def show_queue(pods: Sequence[Waiter]) -> None:
    """One line a pod, the next one first."""
    rows = [
        (
            "-" if pod.position is None else pod.position,
            f"{pod.namespace}/{pod.name}",
            pod.controller,
            pod.priority or "",
            TIERS[pod.tier] if pod.stamped else "unstamped",
            pod.rank if pod.tier == 0 else "",
            duration(round(pod.waiting_seconds * SECOND)),
            pod.obstacle or pod.reason,
        )
        for pod in pods
    ]
    columns = ("#", "pod", "controller", "priority", "tier", "rank", "waits", "reason")
    right = ("#", "priority", "rank", "waits")
    show_table(columns, rows, right=right, drop=("reason", "priority", "rank", "controller"))
    err.print("an estimate: the scheduler's attempts and back-off are not known here")


def show_explanation(told: QueueExplanation) -> None:
    """Where a pod is, who is before it and why."""
    pod = told.pod
    wait = told.expected_wait_seconds
    facts = [
        ("controller", pod.controller),
        ("position", _position(told)),
        ("key", pod.key if pod.stamped else f"{pod.key} (unstamped)"),
        ("waits since", duration(round(pod.waiting_seconds * SECOND))),
        ("expected wait", "unknown" if wait is None else duration(round(wait * SECOND))),
        ("outlook", told.outlook),
        ("bindings a minute", f"{told.bindings_per_minute:g}"),
        ("scheduler says", " ".join(filter(None, (pod.reason, pod.message)))),
    ]
    show_table(("pod", f"{pod.namespace}/{pod.name}"), [each for each in facts if each[1]])
    if told.ahead:
        out.print()
        rows = [(each.pod, each.controller, each.why) for each in told.ahead]
        show_table(("ahead", "controller", "because"), rows)


def _position(told: QueueExplanation) -> str:
    if told.pod.position is None:
        return "none: it is in no queue"
    return f"{told.pod.position}, {told.ahead_total} ahead"


def show_shortages(classes: Sequence[Advice]) -> None:
    """One line for each class that is promised more than fits."""
    for line in filter(None, map(shortage, classes)):
        err.print(line, markup=False)


def show_history(answer: Any) -> None:
    """What happened to a controller's pods."""
    rows = [(each["at"], each["pod"], each["what"]) for each in answer["transitions"]]
    show_table(("at", "pod", "what"), rows, whole=("at",))
    err.print(answer["note"], markup=False)
