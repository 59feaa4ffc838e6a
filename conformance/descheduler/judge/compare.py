"""Our cycle beside the real one: every number, class, order, verdict and count.

What the descheduler leaves to chance is followed (`Guided`): if our function can be led to
the very same course, the real one is among those that it allows.
"""

import math
import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from conformance.descheduler.judge.guided import Guided
from conformance.descheduler.judge.visits import visit_problems
from conformance.descheduler.recording import Recording
from trimtab.model.quantity import parse_quantity
from trimtab.model.snapshot import Snapshot
from trimtab.observe.descheduler_log import LoggedCycle, LoggedNode, parse_cycles
from trimtab.observe.descheduler_log import LoggedRun as LoggedRun
from trimtab.policy.choices import Answer
from trimtab.policy.cycle import Class, Cycle, PluginRun, PodOutcome
from trimtab.policy.decision import decide
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import HighNodeUtilization, Plugin, Policy, Profile
from trimtab.policy.snapshot_view import SnapshotView
from trimtab.policy.usage import shown
from trimtab.policy.view import PodView

_ATTEMPTS = 60
_CATEGORIES = {
    Class.UNDER: "underutilized",
    Class.APPROPRIATE: "appropriate",
    Class.OVER: "overutilized",
}
_ASKED = (PodOutcome.EVICTED, PodOutcome.BACKGROUND, PodOutcome.REFUSED)
_CENT = 0.005 + 1e-9


class Judgement(Struct, frozen=True, eq=False):
    """Our cycle, led along the real one's choices, and where they differ."""

    cycle: Cycle
    problems: tuple[str, ...]


def judge(recording: Recording, view: SnapshotView | None = None) -> Judgement:
    """Lead our function along the recorded cycle; no problems: they agree.

    `view` is that of the recorded snapshot, if the caller has it already.
    """
    best = _led(recording, view or SnapshotView(recording.snapshot), [])
    if best.problems and any(reply.means is Answer.EVICTED for _, reply in recording.calls):
        lost: list[str] = []
        at_once = _led(recording, Losing(recording.snapshot, lost), lost)
        return at_once if not at_once.problems else best
    return best


def _led(recording: Recording, view: SnapshotView, lost: list[str]) -> Judgement:
    """Our function, led; `lost` names the owner of every pod evicted so far."""
    real, snapshot = _parsed(recording.lines), recording.snapshot
    policy, inflight = _read(snapshot.policy), recording.inflight()
    nodes = view.selected(policy.node_selector).names
    best: Judgement | None = None
    later: set[str] = set()
    sooner: set[str] = set()
    for attempt in range(_ATTEMPTS):
        choose = Guided(real, nodes, attempt, later, sooner)
        lost.clear()
        ours = decide(
            view,
            policy,
            inflight,
            choose,
            background=snapshot.evictions_in_background,
            answer=_Answers(recording, lost),
            nan="amd64",
        )
        lost.clear()
        problems = tuple(
            _problems(recording, real, ours, view, policy.profiles, inflight.total, lost)
        )
        if best is None or len(problems) < len(best.problems):
            best = Judgement(ours, problems)
        unseen = choose.unseen(ours) - later
        unreached = choose.unreached(ours) - sooner
        later, sooner = later | unseen, sooner | unreached
        if not problems or not (choose.order_of_sum_mattered or unseen or unreached):
            break
    assert best is not None
    return best


@lru_cache(maxsize=512)
def _parsed(lines: tuple[str, ...]) -> LoggedCycle:
    """Mutants are judged by the same logs again and again."""
    (cycle,) = parse_cycles(lines)
    return cycle


@lru_cache(maxsize=64)
def _read(policy: str) -> Policy:
    return read_policy(policy)


class Losing(SnapshotView):
    """Evicted pods are gone at once: their siblings, if filtered later in the cycle, are fewer.

    The descheduler counts an owner's pods in its cache, which hears of the deletion sooner or
    later; both are right.
    """

    def __init__(self, snapshot: Snapshot, lost: list[str]) -> None:
        super().__init__(snapshot)
        self._lost = lost

    def replicas(self, owner_uid: str) -> int:
        return super().replicas(owner_uid) - self._lost.count(owner_uid)


class _Answers:
    def __init__(self, recording: Recording, lost: list[str]) -> None:
        self._replies, self._lost = recording.replies, lost

    def __call__(self, pod: PodView) -> Answer:
        answer = self._replies[f"{pod.namespace}/{pod.name}"].means
        if answer is Answer.EVICTED:
            self._lost.append(pod.owner_uid)
        return answer


def _problems(
    recording: Recording,
    real: LoggedCycle,
    ours: Cycle,
    view: SnapshotView,
    profiles: tuple[Profile, ...],
    flying: int,
    lost: list[str],
) -> Iterator[str]:
    if bool(ours.skipped) != bool(real.skipped):
        yield f"skipped: ours {ours.skipped}, real {real.skipped!r}"
    if ours.skipped is not None:
        if real.skipped and real.skipped.split()[-1] != ours.skipped.text.split()[-1]:
            yield f"skipped: ours {ours.skipped.text!r}, real {real.skipped!r}"
        return
    plugins = [(profile, plugin) for profile in profiles for _, plugin in profile.plugins]
    if len(real.runs) != len(ours.runs):
        yield f"runs: ours {len(ours.runs)}, real {len(real.runs)}"
        return
    yield from _errors(recording, real, ours)
    for told, run, (profile, plugin) in zip(real.runs, ours.runs, plugins, strict=True):
        if run.error is None:
            yield from _run(told, run, ours.nodes, view, profile, plugin, lost)
    yield from _counts(recording, real, ours, flying)


def _errors(recording: Recording, real: LoggedCycle, ours: Cycle) -> Iterator[str]:
    expected = [(r.plugin, r.error) for r in ours.runs if r.error is not None]
    if len(expected) != len(real.errors):
        yield f"errors: ours {[e.text for _, e in expected]}, real {list(real.errors)}"
        return
    for (plugin, error), told in zip(expected, real.errors, strict=True):
        text = f'plugin "{plugin}" finished with error: {error.text}'
        if _without_node(text, ours.nodes) != _without_node(told, ours.nodes) and not (
            _is_of_api(recording, text, told)
        ):
            yield f"error: ours {text!r}, real {told!r}"


def _without_node(text: str, nodes: tuple[str, ...]) -> str:
    """Which of several nodes without a sample is named is left to chance."""
    if "unable to find" not in text:
        return text
    return re.sub(r"\bn\d\d\b", "some node", text) if any(n in text for n in nodes) else text


def _is_of_api(recording: Recording, ours: str, real: str) -> bool:
    """The client puts the kind of an API error before its text, and bytes behind a decoder's."""
    query = recording.snapshot.query
    if query is None or not query.error:
        return real.startswith(f"{ours}, error found in #")
    return real.endswith(query.error) and real.startswith(ours.removesuffix(query.error))


def _run(
    told: LoggedRun,
    run: PluginRun,
    nodes: tuple[str, ...],
    view: SnapshotView,
    profile: Profile,
    plugin: Plugin,
    lost: list[str],
) -> Iterator[str]:
    yield from _figures(told, run, nodes, isinstance(plugin, HighNodeUtilization))
    ours, real = _exit(run), told.exit
    if ours != re.sub(r", you might.*", "", real):
        yield f"exit: ours {ours!r}, real {real!r}"
    if run.exit is not None:
        return
    headroom = {r: _low_bits(amount) for r, amount in run.headroom.items()}
    if headroom != told.headroom:
        yield f"headroom: ours {headroom}, real {told.headroom}"
    expected = [visit.node for visit in run.visits]
    visited = [source.node for source in told.sources]
    if expected != visited:
        yield f"sources: ours {expected}, real {visited}"
        return
    for visit, source in zip(run.visits, told.sources, strict=True):
        for problem in visit_problems(visit, source, view, profile, plugin):
            yield f"{visit.node}: {problem}"
        lost += [s.pod.owner_uid for s in visit.steps if s.outcome is PodOutcome.EVICTED]


def _exit(run: PluginRun) -> str:
    """In the log's words."""
    if run.exit is None:
        return ""
    numbers = re.findall(r"\((\d+)\)", run.exit.text)
    text = re.sub(r" \(\d+\)", "", run.exit.text)
    return f"{text} ({', '.join(numbers)})" if numbers else text


def _low_bits(amount: int) -> int:
    return (amount + 2**63) % 2**64 - 2**63


def _figures(told: LoggedRun, run: PluginRun, nodes: tuple[str, ...], high: bool) -> Iterator[str]:
    assert run.figures is not None
    figures = run.figures
    for number, node in enumerate(nodes):
        category = _CATEGORIES[Class(int(figures.classes[number]))]
        reading = told.readings.get(node)
        if reading is None:
            if not (high and category == "appropriate"):
                yield f"{node}: ours {category}, real none"
            continue
        if reading.category != category:
            allowed = figures.doubtful.get(number, frozenset())
            yield f"{node}: ours {category}, real {reading.category}, allowed {set(allowed)}"
        yield from _reading(reading, run, number)
    if unknown := told.readings.keys() - set(nodes):
        yield f"nodes that only the real one read: {sorted(unknown)}"
    for name, ours, real in (
        ("average", figures.average, told.average),
        ("low", figures.low if figures.average is not None else None, told.low),
        ("high", figures.high if figures.average is not None else None, told.high),
    ):
        if not _close(ours, real):
            yield f"{name}: ours {ours}, real {real}"


def _reading(reading: LoggedNode, run: PluginRun, number: int) -> Iterator[str]:
    assert run.figures is not None
    usage = {r: int(values[number]) for r, values in run.figures.usage.items()}
    real = {r: shown(r, parse_quantity(text).nano) for r, text in reading.usage.items()}
    if usage != real:
        yield f"{reading.node}: usage ours {usage}, real {real}"
    values = {r: float(v[number]) for r, v in run.figures.percent.items()}
    percent = {r: float(math.floor(v + 0.5)) for r, v in values.items() if not math.isnan(v)}
    if percent != {r: float(p) for r, p in reading.percent.items()}:
        yield f"{reading.node}: percent ours {percent}, real {reading.percent}"


def _close(ours: object, real: object) -> bool:
    """Equal as far as two decimals tell."""
    if not isinstance(ours, dict) or not isinstance(real, dict):
        return ours == real
    if ours.keys() != real.keys():
        return False
    return all(abs(ours[r] - real[r]) <= max(_CENT, abs(real[r]) * 1e-12) for r in ours)


def _counts(recording: Recording, real: LoggedCycle, ours: Cycle, flying: int) -> Iterator[str]:
    steps = [step for run in ours.runs for visit in run.visits for step in visit.steps]
    asked = [f"{s.pod.namespace}/{s.pod.name}" for s in steps if s.outcome in _ASKED]
    calls = [pod for pod, _ in recording.calls]
    if asked != calls:
        yield f"evictions asked for: ours {asked}, real {calls}"
    evicted = sum(step.outcome is PodOutcome.EVICTED for step in steps)
    if evicted != real.evicted:
        yield f"evicted: ours {evicted}, real {real.evicted}"
    background = sum(step.outcome is PodOutcome.BACKGROUND for step in steps)
    in_flight = flying + background if recording.snapshot.evictions_in_background else 0
    if in_flight != real.in_flight:
        yield f"in flight at the end: ours {in_flight}, real {real.in_flight}"
