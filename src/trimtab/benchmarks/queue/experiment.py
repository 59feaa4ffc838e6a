"""An experiment on the queue's order: its file, its chances, and what came of it.

More replicas are wanted than fit. Every pod lives for a time that was drawn beforehand, by
seed, Deployment and incarnation, so that all sides meet the same departures; then it is
deleted, its Deployment makes another, and the scheduler decides who gets the free place.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import yaml
from msgspec import Struct, ValidationError, convert
from numpy.typing import NDArray

from trimtab.errors import ConfigError

Side = Literal["stock", "rank", "qos"]
Floats = NDArray[np.float64]
NEARLY = 0.05
"""An SLO of 1 cannot be met: even a pod that is served at once waits a moment."""
LEAST_DEFICIT = 1e-4
"""A smaller one counts as this: it cannot be measured, and a ratio needs a number."""


class DeploymentGroup(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Deployments of one replica with the same SLO; `upper` ones count for the verdict."""

    slo: float
    deployments: int
    upper: bool = False


class QueueExperiment(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file. Times are seconds."""

    name: str
    nodes: int
    slots_per_node: int
    classes: dict[str, DeploymentGroup]
    mean_life_s: float
    duration_s: float
    seeds: tuple[int, ...]
    sides: tuple[Side, ...] = ("stock", "rank", "qos")

    @property
    def slots(self) -> int:
        return self.nodes * self.slots_per_node

    @property
    def demand(self) -> float:
        """Promised availability over capacity: above 1 not every promise can be kept."""
        return sum(g.slo * g.deployments for g in self.classes.values()) / self.slots

    @property
    def deployments(self) -> dict[str, str]:
        """Names with their classes, in the order in which they are numbered."""
        return {
            f"{name}-{number:02}": name
            for name, group in self.classes.items()
            for number in range(group.deployments)
        }


class Served(Struct, frozen=True):
    """What one Deployment got: seconds running of the seconds it was wanted, and its pods.

    `queueing_s` is its pods' time until they were bound, `replacing_s` the time when no scheduler
    could help: the old pod was gone, the new one not there yet.
    """

    running_s: float
    wanted_s: float
    incarnations: int
    queueing_s: float = 0.0
    replacing_s: float = 0.0

    @property
    def qos(self) -> float:
        return self.running_s / self.wanted_s if self.wanted_s else 0.0


class SideRun(Struct, frozen=True, kw_only=True):
    """One side with one seed: every Deployment by name."""

    side: Side
    seed: int
    served: dict[str, Served]


class ClassFigures(Struct, frozen=True, kw_only=True):
    """One class on one side, over all seeds; all figures belong together."""

    group: str
    slo: float
    side: Side
    mean_qos: float
    fulfilled: float
    deficit: float
    gini: float
    incarnations: float
    replacing_s: float
    """For each pod: from its predecessor's end until it was there."""


class Gain(Struct, frozen=True):
    """The stock queue's deficit of the upper classes over a side's, and its interval over seeds.

    Deployments of one run share their places and the machine, so they are one observation: with
    a single seed there is no interval.
    """

    ratio: float
    low: float | None
    high: float | None
    seeds: int

    @property
    def is_certain(self) -> bool:
        """Whether the interval leaves out that there is no difference."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


class Report(Struct, frozen=True, kw_only=True):
    name: str
    demand: float
    seeds: tuple[int, ...]
    figures: tuple[ClassFigures, ...]
    gain: Gain | None
    rank_gain: Gain | None
    fairer: dict[str, bool]
    """By class: whether its Gini is lower than with ranks alone."""


def read_experiment(file: Path) -> QueueExperiment:
    """The file, checked."""
    try:
        found = convert(yaml.safe_load(file.read_text(encoding="utf-8")), QueueExperiment)
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: it is not UTF-8 text") from error
    except (yaml.YAMLError, ValidationError) as error:
        raise ConfigError(f"{file}: {' '.join(str(error).split())}") from error
    _check(found, file)
    return found


def _check(found: QueueExperiment, file: Path) -> None:
    faults = {
        "seeds: name at least one": not found.seeds,
        "classes: name at least one": not found.classes,
        "nodes and slots_per_node must be at least 1": min(found.nodes, found.slots_per_node) < 1,
        "mean_life_s and duration_s must be above 0": min(found.mean_life_s, found.duration_s) <= 0,
        "an SLO is a number from 0 to 1": any(
            not 0 <= group.slo <= 1 for group in found.classes.values()
        ),
    }
    for fault, is_there in faults.items():
        if is_there:
            raise ConfigError(f"{file}: {fault}")


def sequence(experiment: QueueExperiment, sides: Collection[str] = ()) -> list[tuple[Side, int]]:
    """Which side is played when: seed after seed, the sides of each in an order drawn by it."""
    chosen = [side for side in experiment.sides if not sides or side in sides]
    return [
        (chosen[i], seed)
        for seed in experiment.seeds
        for i in np.random.default_rng([seed, len(chosen)]).permutation(len(chosen))
    ]


def life_s(experiment: QueueExperiment, seed: int, deployment: int, incarnation: int) -> float:
    """How long this pod lives once it runs, whenever that may be."""
    rng = np.random.default_rng([seed, deployment, incarnation])
    return float(rng.exponential(experiment.mean_life_s))


def report(experiment: QueueExperiment, runs: Sequence[SideRun]) -> Report:
    """All figures of all sides."""
    figures = {
        (side, name): _figures(experiment, name, side, runs)
        for side in experiment.sides
        for name in experiment.classes
        if any(run.side == side for run in runs)
    }
    both = [n for n in experiment.classes if ("rank", n) in figures and ("qos", n) in figures]
    return Report(
        name=experiment.name,
        demand=experiment.demand,
        seeds=tuple(dict.fromkeys(run.seed for run in runs)),
        figures=tuple(figures.values()),
        gain=_gain(experiment, runs, "qos"),
        rank_gain=_gain(experiment, runs, "rank"),
        fairer={n: figures["qos", n].gini < figures["rank", n].gini for n in both},
    )


def _figures(
    experiment: QueueExperiment, name: str, side: Side, runs: Sequence[SideRun]
) -> ClassFigures:
    group = experiment.classes[name]
    of_side = [run for run in runs if run.side == side]
    mine = [
        [_of(run, d) for d, c in experiment.deployments.items() if c == name] for run in of_side
    ]
    qos = np.array([[served.qos for served in run] for run in mine])
    enough = group.slo if group.slo < 1 else group.slo - NEARLY
    return ClassFigures(
        group=name,
        slo=group.slo,
        side=side,
        mean_qos=float(qos.mean()),
        fulfilled=float((qos >= enough).mean()),
        deficit=float(np.maximum(0.0, group.slo - qos).mean()),
        gini=float(np.mean([gini(row) for row in qos])),
        incarnations=float(np.mean([[served.incarnations for served in run] for run in mine])),
        replacing_s=_each(mine),
    )


def _each(runs: list[list[Served]]) -> float:
    pods = sum(served.incarnations for run in runs for served in run)
    return sum(served.replacing_s for run in runs for served in run) / max(1, pods)


def _of(run: SideRun, deployment: str) -> Served:
    return run.served.get(deployment, Served(0.0, 0.0, 0))


def gini(values: Floats) -> float:
    """0: everybody has the same. Half the mean difference of two, over the mean."""
    mean = float(values.mean())
    if mean == 0.0:
        return 0.0
    return float(np.abs(values[:, None] - values[None, :]).mean() / (2 * mean))


def _gain(experiment: QueueExperiment, runs: Sequence[SideRun], side: Side) -> Gain | None:
    """The geometric mean of the seeds' ratios, with Student's interval of their logarithms."""
    by_side = {s: {run.seed: run for run in runs if run.side == s} for s in ("stock", side)}
    seeds = sorted(by_side["stock"].keys() & by_side[side].keys())
    upper = {
        name: experiment.classes[group].slo
        for name, group in experiment.deployments.items()
        if experiment.classes[group].upper
    }
    if not seeds or not upper:
        return None
    stock, ours = (
        np.array([_deficit(by_side[s][seed], upper) for seed in seeds]) for s in ("stock", side)
    )
    logs = np.log(stock / ours)
    ratio = float(np.exp(logs.mean()))
    if len(seeds) < 2:
        return Gain(ratio, None, None, len(seeds))
    half = student(len(seeds) - 1) * float(logs.std(ddof=1)) / math.sqrt(len(seeds))
    low, high = float(np.exp(logs.mean() - half)), float(np.exp(logs.mean() + half))
    return Gain(ratio, low, high, len(seeds))


def _deficit(run: SideRun, slos: Mapping[str, float]) -> float:
    """The mean over Deployments of what one run left them short of."""
    missed = [max(0.0, slo - _of(run, name).qos) for name, slo in slos.items()]
    return max(LEAST_DEFICIT, float(np.mean(missed)))


_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


def student(freedom: int) -> float:
    """The 0.975 quantile of Student's distribution, for one degree of freedom and more."""
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    return 1.96 + 2.4 / freedom + 2.8 / freedom**2
