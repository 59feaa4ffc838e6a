"""Is the loop keeping up? How late its rules, samples, queue and cycles are, in one line.

A loop that falls behind stays correct and decides on old numbers. Rules are the first to be
late, with many nodes; then the samples that they read.
"""

import time
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from msgspec import Struct

from trimtab.errors import TrimtabError
from trimtab.prom.client import Prometheus
from trimtab.stacks.loop.connection import Loop
from trimtab.stacks.loop.settings import SCRAPE_S
from trimtab.stacks.loop.state.recent_cycles import RecentCycle, read_cycles

_GROUPS = "trimtab"
_OURS = f'rule_group=~".*;{_GROUPS}.*"'
_QUERIES = {
    "missed": f"sum(increase(prometheus_rule_group_iterations_missed_total{{{_OURS}}}[2m]))",
    "scrape_age": "max(time() - timestamp(node_vm_count))",
    "scrape_took": 'max(scrape_duration_seconds{job="exporter"})',
    "queue": 'max(trimtab_queue_depth{job="vm-controller"})',
    "queue_oldest": 'max(trimtab_queue_oldest_seconds{job="vm-controller"})',
}
CYCLES = 10
LATE = 3.0
"""Samples and evaluations this many intervals old are late."""
LONG_WAIT_S = 5.0
MISSED_WINDOW_S = 120.0
MISSED_TOO_OFTEN = 0.25
"""Rules that leave out more than this share of their evaluations miss them for good."""


class RuleGroupPace(Struct, frozen=True):
    """One rule group: how long it takes, how often it should run, how old its results are."""

    name: str
    took_s: float
    interval_s: float
    age_s: float | None = None


class KeepingUp(Struct, frozen=True, kw_only=True):
    """Numbers of the last two minutes; None where it is not known."""

    groups: tuple[RuleGroupPace, ...] = ()
    missed: int | None = None
    """Evaluations of rules that were left out."""
    scrape_age_s: float | None = None
    scrape_took_s: float | None = None
    scrape_interval_s: float = SCRAPE_S
    queue: int | None = None
    queue_oldest_s: float | None = None
    cycles: int = 0
    """Descheduling cycles that were looked at: the last ones of its present process."""
    skipped: int = 0
    """Cycles that should have taken place between them and did not."""
    unknown: str = ""
    """Why there are no numbers."""

    @property
    def problems(self) -> list[str]:
        """What is late, in words; empty if everything keeps up."""
        return [*self._late_rules(), *self._late_samples(), *self._late_work()]

    @property
    def rules_left_out(self) -> str:
        """Whether rules miss their intervals again and again, in words; empty if they do not.

        A few that are missed while the computer is busy are late; this many are a fault.
        """
        ours = [g for g in self.groups if g.name.startswith(_GROUPS)]
        due = sum(MISSED_WINDOW_S / g.interval_s for g in ours)
        if not due or (self.missed or 0) <= MISSED_TOO_OFTEN * due:
            return ""
        slowest = max(ours, key=lambda g: g.took_s / g.interval_s)
        return (
            f"rules miss their intervals: {self.missed} of {due:.0f} evaluations in two minutes "
            f"were left out ({slowest.name} takes {slowest.took_s:.1f} s, its interval is "
            f"{slowest.interval_s:g} s), so decisions rest on old scores"
        )

    @property
    def ok(self) -> bool:
        return not self.unknown and not self.problems

    def _late_rules(self) -> list[str]:
        slow = [g for g in self.groups if g.took_s > g.interval_s]
        late = [g for g in self.groups if (g.age_s or 0.0) > LATE * g.interval_s + g.took_s]
        found = [
            f"rules ({g.name}) take {g.took_s:.1f} s, their interval is {g.interval_s:g} s"
            for g in slow
        ]
        found += [
            f"rules ({g.name}) were evaluated {g.age_s:.0f} s ago, their interval is "
            f"{g.interval_s:g} s"
            for g in late
            if g not in slow
        ]
        if self.missed:
            found.append(f"{self.missed} evaluations of rules were missed in two minutes")
        return found

    def _late_samples(self) -> list[str]:
        if (self.scrape_age_s or 0.0) <= LATE * self.scrape_interval_s:
            return []
        interval = f"their interval is {self.scrape_interval_s:g} s"
        return [f"samples are {self.scrape_age_s:.1f} s old, {interval}"]

    def _late_work(self) -> list[str]:
        found = []
        if (self.queue_oldest_s or 0.0) > LONG_WAIT_S:
            wait = f"up to {self.queue_oldest_s:.0f} s"
            found.append(f"{self.queue} VMs wait for the controller, {wait}")
        if self.skipped:
            found.append(
                f"{self.skipped} descheduling cycles were skipped in the last {self.cycles}"
            )
        return found

    def __str__(self) -> str:
        if self.unknown:
            return f"keeping up: not known: {self.unknown}"
        if self.problems:
            return f"falling behind: {'; '.join(self.problems)}"
        return f"keeping up: {', '.join(self._figures())}"

    def _figures(self) -> list[str]:
        found = []
        if self.groups:
            tightest = max(self.groups, key=lambda g: g.took_s / g.interval_s)
            found.append(f"rules take {tightest.took_s:.2f} of {tightest.interval_s:g} s")
        if self.scrape_age_s is not None:
            found.append(f"samples are {self.scrape_age_s:.1f} s old")
        if self.queue is not None:
            found.append(f"{self.queue} in the controller's queue")
        return [*found, "no cycle skipped"]


async def keeping_up(loop: Loop) -> KeepingUp:
    """Ask Prometheus and the descheduler's log once; the answer says what failed."""
    pace_s = SCRAPE_S / loop.spec.clock.scale
    cycles = read_cycles(loop.lab.log("descheduler"))
    if cycles:
        cycles = [cycle for cycle in cycles if cycle.pid == cycles[-1].pid][-CYCLES:]
    try:
        seen = {name: await _value(loop.prometheus, query) for name, query in _QUERIES.items()}
        groups = await _groups(loop.prometheus)
    except TrimtabError as error:
        return KeepingUp(unknown=str(error))
    return KeepingUp(
        groups=groups,
        missed=_whole(seen["missed"]),
        scrape_age_s=seen["scrape_age"],
        scrape_took_s=seen["scrape_took"],
        scrape_interval_s=pace_s,
        queue=_whole(seen["queue"]),
        queue_oldest_s=seen["queue_oldest"],
        cycles=len(cycles),
        skipped=skipped_cycles(cycles, loop.interval_s),
    )


def skipped_cycles(cycles: Sequence[RecentCycle], interval_s: float) -> int:
    """How many cycles are missing between those that there are."""
    ends = [end for cycle in cycles if (end := _seconds(cycle.ended)) is not None]
    gaps = [(later - earlier) % 86400.0 for earlier, later in pairwise(ends)]
    # half an interval more may be one long cycle after a short one
    return sum(max(0, round(gap / interval_s) - 1) for gap in gaps if gap > 1.5 * interval_s)


def _seconds(time_of_day: str) -> float | None:
    try:
        parsed = datetime.strptime(time_of_day, "%H:%M:%S.%f")
    except ValueError:
        return None
    return parsed.hour * 3600 + parsed.minute * 60 + parsed.second + parsed.microsecond / 1e6


async def _value(prometheus: Prometheus, query: str) -> float | None:
    samples = await prometheus.instant(query)
    return samples[0].value if samples else None


async def _groups(prometheus: Prometheus) -> tuple[RuleGroupPace, ...]:
    now = time.time()
    return tuple(
        RuleGroupPace(
            group.name,
            group.evaluation_time,
            group.interval,
            None if group.last_evaluation is None else now - group.last_evaluation.timestamp(),
        )
        for group in await prometheus.rules()
        if group.interval > 0
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
