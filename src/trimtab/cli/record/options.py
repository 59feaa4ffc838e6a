"""Options of `trimtab whatif`: what is asked, how it is simulated, and where the answer goes."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trimtab.cli.common.output import Flag
from trimtab.cli.common.output_files import check_directory, check_file
from trimtab.cli.record.runs import RUNS
from trimtab.errors import ConfigError
from trimtab.model.duration import parse_duration

if TYPE_CHECKING:
    from trimtab.study.recorded.questions import WhatifOptions

MOST_SEEDS = 100


@Parameter(name="*")
@dataclass(frozen=True)
class QuestionOptions:
    """What is asked of the recording.

    Parameters
    ----------
    policy
        A policy file instead of the recorded one.
    more
        How many nodes more; 0 leaves the question out.
    drain
        A node to drain at the beginning.
    growth
        How many times the recorded CPU load, for the question about more load.
    migrations
        How many VMs may migrate at a time, and away from one node: 10/4, say. Default: twice as
        many as KubeVirt allows now.
    sweep
        Compare other scores, thresholds and limits with the policy in use.
    balancer
        Ask also what trimtab's planner would do; it may take long.
    interval
        Time between two descheduling cycles.
    """

    policy: Path | None = None
    more: int = 1
    drain: str = ""
    growth: float = 1.2
    migrations: str = ""
    sweep: Annotated[bool, Parameter(negative="--no-sweep")] = True
    balancer: Flag = False
    interval: str = "5m"

    def asked(self) -> "WhatifOptions":
        """Checked, in the words of the study."""
        from trimtab.study.recorded.questions import WhatifOptions

        if not 0 <= self.more <= 1000:
            raise ConfigError(f"--more {self.more}: must be within 0..1000")
        if not 0 < self.growth <= 100:
            raise ConfigError(
                f"--growth {self.growth:g}: must be above 0 and at most 100, e.g. 1.2"
            )
        return WhatifOptions(
            more=self.more,
            drain=self.drain,
            growth=self.growth,
            interval_s=parse_duration(self.interval, "--interval"),
            sweep=self.sweep,
            migrations=_pair(self.migrations),
            balancer=self.balancer,
        )


@Parameter(name="*")
@dataclass(frozen=True)
class RunOptions:
    """How the questions are simulated.

    Parameters
    ----------
    seeds
        Runs of each question; they differ in what is left to chance.
    jobs
        Processes at a time. Default: all cores.
    scheduler
        Address of a Dask scheduler that runs the simulations.
    """

    seeds: int = RUNS
    jobs: int | None = None
    scheduler: str | None = None

    def numbers(self) -> tuple[int, ...]:
        """The seeds themselves."""
        if not 1 <= self.seeds <= MOST_SEEDS:
            raise ConfigError(f"--seeds {self.seeds}: must be within 1..{MOST_SEEDS}")
        return tuple(range(self.seeds))


@Parameter(name="*")
@dataclass(frozen=True)
class AnswerOptions:
    """Where the answer goes beside the terminal.

    Parameters
    ----------
    out
        A directory for answer.json, report.html, policy.yaml and, where they can say what won,
        a patch of OpenShift's KubeDescheduler and a VirtPlatformConfig.
    report
        Only the page with the cluster's pictures: a file that ends in .html, or a directory for
        report.html.
    """

    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None
    report: Path | None = None

    def pages(self) -> list[Path]:
        """Where report.html goes; refused before the long work begins if it cannot go there."""
        found = []
        if self.out is not None:
            check_directory(self.out, "--out")
            found.append(self.out / "report.html")
        if self.report is not None and self.report.suffix == ".html":
            check_file(self.report, "--report")
            found.append(self.report)
        elif self.report is not None:
            check_directory(self.report, "--report")
            found.append(self.report / "report.html")
        return found


def _pair(text: str) -> tuple[int, int] | None:
    """`10/4` as numbers."""
    if not text:
        return None
    total, _, per_node = text.partition("/")
    if not (total.isdecimal() and per_node.isdecimal() and int(total) and int(per_node)):
        raise ConfigError(
            f"--migrations {text}: give two numbers above 0, in the cluster and a node: 10/4"
        )
    return int(total), int(per_node)
