"""Options of `trimtab sim`, grouped by what they are about, and how pairs of numbers are read."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from trimtab.cli.cluster.options import ClusterOptions
from trimtab.cli.common.numbers import finite
from trimtab.cli.common.output import Flag
from trimtab.errors import ConfigError


@Parameter(name="*")
@dataclass(frozen=True)
class LiveOptions(ClusterOptions):
    """A running loop to decide one cycle of, by two addresses or as a lab.

    Parameters
    ----------
    kubeconfig
        The kubeconfig of a lab, instead of --lab.
    context
        A context of --kubeconfig.
    lab
        Decide one cycle of this lab's loop: --live with the lab's own addresses.
    live
        PROMETHEUS and EXPORTER of a running loop: decide one cycle on what they say now, have
        the VMs moved, and tell where each was meant to go and where it went.
    dry_run
        With --live or --lab: decide only, move nothing.
    token_file
        With --live: the exporter's token; that of a lab of yours is found without it.
    """

    kubeconfig: Path | None = None
    context: str = ""
    lab: str = ""
    live: Annotated[tuple[str, str] | None, Parameter(negative=())] = None
    dry_run: Flag = False
    token_file: Path | None = None


@Parameter(name="*")
@dataclass(frozen=True)
class PolicyOptions:
    """What decides: a score and a policy, simulated or live.

    Parameters
    ----------
    score
        Name of a node score (`trimtab scores list`) or a Python file that defines one. Default:
        linear_amplified_ippd_k3; with --live the policy's query.
    policy
        A descheduler policy file. Default: 0 to 10 points around the mean, 5 in all, 2 a node.
    thresholds
        Points below and above the mean, e.g. 0:10, instead of the policy's.
    limits
        Evictions at a time in all and per node, e.g. 5:2, instead of the policy's.
    seed
        What is left to chance: ties, victims, failures, phases of the timers.
    """

    score: str | None = None
    policy: Path | None = None
    thresholds: str | None = None
    limits: str | None = None
    seed: int = 0

    @property
    def points(self) -> tuple[float, float] | None:
        return pair_of(self.thresholds, "--thresholds", "0:10")

    @property
    def most_evictions(self) -> tuple[int, int] | None:
        return limits_of(self.limits)


@Parameter(name="*")
@dataclass(frozen=True)
class SimulationOptions:
    """What only a simulation can vary.

    Parameters
    ----------
    placement
        The scheduler: spread is the default one, binpack fills nodes; the others are what-ifs.
    victims
        Who goes: stock as the descheduler does; planned as `trimtab balance`; all but stock are
        what-ifs with own targets.
    migration
        How VMs move, instead of what the scenario says.
    consecutive
        Relieve only nodes that were over-utilised in this many cycles in a row.
    cooldown
        A VM that moved stays this long, twice as long after each further move.
    minimum_gain
        What a move must lower the sum of squared loads by (best-fit and steepest-pair).
    duration
        How long, e.g. 2h, instead of what the scenario says.
    interval
        Time between two descheduling cycles.
    out
        A directory for inputs, result.json, events.parquet and report.html.
    """

    placement: Literal["spread", "binpack", "least-loaded", "soft-taints"] = "spread"
    victims: Literal["stock", "best-fit", "steepest-pair", "planned"] = "stock"
    migration: Literal["live", "recreate"] | None = None
    consecutive: int = 1
    cooldown: str = "0s"
    minimum_gain: Annotated[float, Parameter(validator=finite)] = 0.0
    duration: str | None = None
    interval: str = "60s"
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None

    def given(self) -> list[str]:
        """The options that are not as they are by default, as they are typed."""
        return [
            f"--{field.name.replace('_', '-')}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]


def policy_text(path: Path | None) -> str:
    """The file's text; nothing where none is named."""
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{path}: cannot read the policy: {reason}") from error


def pair_of(text: str | None, option: str, example: str) -> tuple[float, float] | None:
    """`0:10` as two numbers of points."""
    if text is None:
        return None
    first, _, second = text.partition(":")
    try:
        pair = float(first), float(second)
    except ValueError as error:
        raise ConfigError(f"{option}: {text!r} is not a pair; write it like {example}") from error
    if not all(0 <= number <= 100 for number in pair):
        raise ConfigError(f"{option}: {text!r}: both must be within 0..100")
    return pair


def limits_of(text: str | None) -> tuple[int, int] | None:
    """`5:2` as evictions in all and per node."""
    pair = pair_of(text, "--limits", "5:2")
    if pair is None:
        return None
    if any(number != int(number) or number < 1 for number in pair):
        raise ConfigError(f"--limits: {text!r}: both must be whole and at least 1")
    return int(pair[0]), int(pair[1])
