"""The questions that `trimtab whatif` asks of a recording, each as one run of the simulator."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from trimtab.errors import ConfigError
from trimtab.model.recorded.recording import ClusterRecording
from trimtab.model.scenarios.scenario import Scenario, ScenarioEvent
from trimtab.policy.file.default import DEFAULT_POLICY, DEFAULT_QUERY
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import LowNodeUtilization, Policy
from trimtab.scores import CATALOG
from trimtab.scores.prometheus.records import score_record
from trimtab.sim.descheduling.descheduler import limits_of
from trimtab.sim.spec import RunSpec, Timing
from trimtab.study.recorded.constraints import not_modelled
from trimtab.study.recorded.scenario import recorded_scenario

DEFAULT_SCORE = "linear_amplified_ippd_k3"
SCORES = (DEFAULT_SCORE, "cpu_focused")
THRESHOLDS = ((0.0, 10.0), (0.0, 20.0), (10.0, 10.0), (20.0, 20.0))
"""Those that OpenShift's KubeDescheduler has names for."""
LIMITS = ((2, 1), (10, 4))
GROWTH = 1.2
NOTHING, MINE, BALANCER = "nothing", "my policy", "balancer"


class WhatifOptions(Struct, frozen=True):
    """What was asked for beside the ready-made questions."""

    more: int = 1
    drain: str = ""
    growth: float = GROWTH
    interval_s: float = 300.0
    sweep: bool = True
    migrations: tuple[int, int] | None = None
    """At a time in the cluster, and away from a node; None is twice as many as now."""
    balancer: bool = False


class Question(Struct, frozen=True):
    """One run, in words and as a spec."""

    name: str
    said: str
    spec: RunSpec
    is_choice: bool = False
    """A setting of today's descheduler that one could choose; the others are what-ifs."""


class PolicyInUse(Struct, frozen=True):
    """The recorded policy as the simulator can run it, and what stands for what it cannot."""

    text: str
    score: str
    thresholds: tuple[float, float] | None
    limits: tuple[int, int] | None
    notes: tuple[str, ...] = ()


def policy_in_use(recording: ClusterRecording, given: str = "") -> PolicyInUse:
    """The policy of the snapshot, or another text."""
    text, notes = given or recording.snapshot.policy or DEFAULT_POLICY, []
    try:
        policy = read_policy(text, "policy")
    except ConfigError as error:
        if given:
            raise
        text = DEFAULT_POLICY
        policy = read_policy(text)
        notes.append(f"trimtab's default policy stands for the recorded one ({error})")
    plugin = next(_plugins(policy), None)
    if plugin is None:
        notes.append("the policy has no LowNodeUtilization: it moves nothing for the sake of load")
    score = _score_of(plugin.query if plugin else "")
    if score is None:
        notes.append(f"the policy's query is no score of trimtab's: {DEFAULT_SCORE} stands for it")
    notes += not_modelled(recording)
    total, per_node = limits_of(policy)
    return PolicyInUse(
        text,
        score or DEFAULT_SCORE,
        _span(plugin),
        (total, per_node) if total is not None and per_node is not None else None,
        tuple(notes),
    )


def _plugins(policy: Policy) -> Iterator[LowNodeUtilization]:
    for profile in policy.profiles:
        for _, plugin in profile.plugins:
            if isinstance(plugin, LowNodeUtilization):
                yield plugin


def _score_of(query: str) -> str | None:
    if not query or query == DEFAULT_QUERY:
        return DEFAULT_SCORE
    for name in CATALOG:
        if query.strip() in (score_record(name, "avg1m"), score_record(name, "score")):
            return name
    return None


def _span(plugin: LowNodeUtilization | None) -> tuple[float, float] | None:
    if plugin is None or not plugin.low or not plugin.high:
        return None
    return float(next(iter(plugin.low.values()))), float(next(iter(plugin.high.values())))


def first_questions(
    recording: ClusterRecording, mine: PolicyInUse, interval_s: float
) -> tuple[Question, Question]:
    """Nothing and my policy: what all others are compared with."""
    timing = Timing(descheduling_s=interval_s)
    base = RunSpec(recorded_scenario(recording), mine.score, mine.text, timing=timing)
    return (
        Question(NOTHING, "no VM is moved", replace(base, score=None)),
        Question(MINE, "the recorded policy", base, is_choice=True),
    )


def ready_questions(
    recording: ClusterRecording, mine: PolicyInUse, asked: WhatifOptions
) -> list[Question]:
    """Nothing, my policy, other settings, the balancer, and other clusters under my policy."""
    first = first_questions(recording, mine, asked.interval_s)
    base = first[1].spec
    scenario = base.scenario
    found = [*first, *(_settings(base, mine) if asked.sweep else ())]
    if asked.balancer:
        said = "trimtab's planner chooses VMs and nodes"
        found.append(Question(BALANCER, said, replace(base, victims="planned")))
    grown = recorded_scenario(recording, growth=asked.growth)
    percent = round((asked.growth - 1) * 100)
    found += [
        _elsewhere(base, "one node fewer", *_without_the_largest(scenario)),
        _elsewhere(base, f"{percent:+d} % load", "every VM uses more CPU, my policy", grown),
    ]
    if asked.more:
        said = f"{asked.more} more like the first, my policy"
        name = f"{asked.more} nodes more" if asked.more > 1 else "one node more"
        found.append(_elsewhere(base, name, said, _with_more(scenario, asked.more)))
    found.append(_other_migrations(base, asked.migrations))
    if asked.drain:
        drained = _drained(scenario, asked.drain)
        found.append(_elsewhere(base, f"drain {asked.drain}", "at once, my policy", drained))
    return [each for each in found if len(each.spec.scenario.nodes) > 1]


def _settings(base: RunSpec, mine: PolicyInUse) -> Iterator[Question]:
    for score in dict.fromkeys((mine.score, *SCORES)):
        for low, high in THRESHOLDS:
            if (score, (low, high)) != (mine.score, mine.thresholds):
                spec = replace(base, score=score, thresholds=(low, high))
                yield Question(f"{score} {low:g}:{high:g}", "other score or thresholds", spec, True)
    for total, per_node in LIMITS:
        if (total, per_node) != mine.limits:
            spec = replace(base, limits=(total, per_node))
            yield Question(f"limits {total}/{per_node}", "evictions in all and a node", spec, True)


def _elsewhere(base: RunSpec, name: str, said: str, scenario: Scenario) -> Question:
    return Question(name, said, replace(base, scenario=scenario))


def _other_migrations(base: RunSpec, wanted: tuple[int, int] | None) -> Question:
    """My policy where more or fewer VMs may migrate at the same time."""
    now = base.scenario.migration
    total, per_node = wanted or (2 * now.per_cluster, 2 * now.per_node_outbound)
    model = replace(now, per_cluster=total, per_node_outbound=per_node)
    said = f"at a time and a node; now {now.per_cluster}/{now.per_node_outbound}, my policy"
    scenario = replace(base.scenario, migration=model)
    return _elsewhere(base, f"migrations {total}/{per_node}", said, scenario)


def _without_the_largest(scenario: Scenario) -> tuple[str, Scenario]:
    """The node whose loss hurts most; its VMs begin wherever the scheduler puts them."""
    lost = max(scenario.nodes, key=lambda node: (node.cpu, node.memory, node.name)).name
    vms = [replace(vm, node=None) if vm.node == lost else vm for vm in scenario.vms]
    nodes = tuple(node for node in scenario.nodes if node.name != lost)
    return f"without {lost}, my policy", replace(scenario, nodes=nodes, vms=tuple(vms))


def _with_more(scenario: Scenario, count: int) -> Scenario:
    model = scenario.nodes[0]
    names = [f"more-{number}" for number in range(1, count + 1)]
    extra = tuple(
        replace(model, name=name, labels={**model.labels, "kubernetes.io/hostname": name})
        for name in names
    )
    return replace(scenario, nodes=(*scenario.nodes, *extra))


def _drained(scenario: Scenario, node: str) -> Scenario:
    if node not in {each.name for each in scenario.nodes}:
        raise ConfigError(f"--drain {node}: the recording has no such node that runs VMs")
    return replace(scenario, events=(ScenarioEvent(0.0, "drain", node), *scenario.events))
