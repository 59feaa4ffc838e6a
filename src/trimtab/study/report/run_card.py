"""The report cards of a run and of doing nothing side by side, in units that people use."""

from collections.abc import Callable, Sequence
from math import isnan

from msgspec import Struct

from trimtab.model.duration import format_duration
from trimtab.sim.outcome import ReportCard

Show = Callable[[float], str]


class Line(Struct, frozen=True):
    """One question: what it means, both answers, and the least that is possible."""

    what: str
    about: str
    run: str
    nothing: str
    least: str


class Group(Struct, frozen=True):
    title: str
    lines: tuple[Line, ...]


def _points(share: float) -> str:
    return f"{100 * share:.2f}"


def _moment(seconds: float) -> str:
    return "never" if isnan(seconds) else format_duration(seconds)


def _cycles(count: float) -> str:
    return f"{count:g} cycle{'' if count == 1 else 's'}"


_whole, _tenths, _times = "{:,.0f}".format, "{:,.1f}".format, "{:.2f}×".format
_percent, _fine_percent = "{:.2%}".format, "{:.4%}".format


class _Question(Struct, frozen=True):
    what: str
    about: str
    field: str
    show: Show
    least: str = ""
    show_least: Show = _whole


_Q = _Question
_GROUPS: dict[str, tuple[_Question, ...]] = {
    "Balance, over the whole run": (
        _Q("CPU imbalance, points", "standard deviation of nodes' use", "load_std_mean", _points),
        _Q("CPU imbalance at the end, points", "the same at last", "load_std_final", _points),
        _Q("memory imbalance, points", "of nodes' memory use", "memory_std_mean", _points),
        _Q("hottest node", "CPU use over the nodes' mean", "max_over_mean", _times),
        _Q("Gini coefficient", "0 is equal, 1 is all on one node", "gini", "{:.3f}".format),
    ),
    "Contention": (
        _Q("overload, node·s", "use above capacity", "overload_node_seconds", _whole),
        _Q("CPU demand not served", "of all VMs together", "degraded_vm_share", _percent),
        _Q("the same, worst 1 % of VMs", "99th percentile", "degraded_vm_share_p99", _percent),
        _Q("pressure, node·s", "CPU and memory pressure", "psi_node_seconds", _whole),
        _Q("SLATAH", "share of time that nodes with VMs are full", "slatah", _percent),
        _Q("PDM", "share of CPU that VMs lose to migrations", "pdm", _fine_percent),
        _Q("ESV, kWh", "energy × SLATAH × PDM", "esv", "{:.3g}".format),
    ),
    "Cost": (
        _Q("migrations", "that succeeded", "migrations", _whole, "minimum_migrations"),
        _Q("failed attempts", "failures, time-outs, no target", "failed_migrations", _whole),
        _Q("data moved, GB", "sent again included", "gb_moved", _tenths, "minimum_gb", _tenths),
        _Q("time copying, s", "of all copies together", "precopy_seconds", _whole),
        _Q("at the same time", "the most migrations at one moment", "peak_concurrent", _whole),
        _Q("VMs moved more than once", "", "vms_moved_again", _whole),
        _Q("VMs down, VM·s", "should have run and did not", "down_vm_seconds", _whole),
        _Q("energy, kWh", "4 W a core, 6 W more at work", "energy_kwh", "{:,.2f}".format),
    ),
    "Control": (
        _Q(
            "level for the first time",
            "no node more than 10 points above the mean, for three cycles",
            "first_converged_s",
            _moment,
            "minimum_cycles",
            _cycles,
        ),
        _Q("level for the last time", "after getting out of it", "last_converged_s", _moment),
        _Q("overshoot, points", "how far nodes were thrown past the mean", "overshoot", _points),
        _Q("oscillations", "nodes between too much and too little", "oscillations", _whole),
        _Q("ping-pong", "VMs back within an hour", "ping_pongs", _whole),
    ),
}


def card_groups(card: ReportCard, nothing: ReportCard) -> list[Group]:
    """Every question of the report card, by theme."""

    def line(q: _Question) -> Line:
        run, idle = q.show(getattr(card, q.field)), q.show(getattr(nothing, q.field))
        least = q.show_least(getattr(card, q.least)) if q.least else ""
        return Line(q.what, q.about, run, idle, least)

    return [Group(title, tuple(map(line, rows))) for title, rows in _GROUPS.items()]


def tiles(card: ReportCard, nothing: ReportCard) -> Sequence[dict[str, str]]:
    """The headline: what came of it, at what price, how fast."""
    return (
        _tile("pick", "Imbalance of CPU use", f"{100 * card.load_std_mean:.2f} points",
              f"{100 * nothing.load_std_mean:.2f} if nothing is done"),
        _tile("best", "Migrations", f"{card.migrations:,}",
              f"{card.minimum_migrations:,} at least; {card.gb_moved:,.1f} GB moved"),
        _tile("default", "Level for the first time", _moment(card.first_converged_s),
              f"{_cycles(card.minimum_cycles)} at least"),
        _tile("nothing", "CPU demand not served", f"{card.degraded_vm_share:.2%}",
              f"{nothing.degraded_vm_share:.2%} if nothing is done"),
    )  # fmt: skip


def _tile(kind: str, what: str, value: str, how: str) -> dict[str, str]:
    return {"kind": kind, "what": what, "value": value, "how": how}
