"""`trimtab whatif`: which setting suits the recorded cluster, and what would become of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import App, Parameter

from trimtab.cli.common.examples import examples
from trimtab.cli.common.output import Flag, Json, emit
from trimtab.cli.common.output_files import check_directory, check_file, writing
from trimtab.cli.record.runs import RUNS, engine_of, simulated
from trimtab.cli.sim.options import policy_text
from trimtab.errors import ConfigError
from trimtab.files.writing import write_whole
from trimtab.model.duration import parse_duration
from trimtab.view.terminal import err, progress

if TYPE_CHECKING:
    from trimtab.study.recorded.answer import WhatifAnswer

MOST_SEEDS = 100

app = App(
    name="whatif",
    help="Ask what would become of a recorded cluster under other settings.",
    help_epilogue=examples(
        "trimtab whatif my.trimtab",
        "trimtab whatif my.trimtab -o answer",
        "trimtab whatif my.trimtab --report my-cluster.html",
        "trimtab whatif my.trimtab --drain worker-7 --more 3 --growth 1.5",
        "trimtab whatif my.trimtab --policy new-policy.yaml --no-sweep",
        "trimtab whatif my.trimtab --json | jq .words",
    ),
)


@app.default
def whatif(
    file: Path,
    /,
    *,
    policy: Path | None = None,
    more: int = 1,
    drain: str = "",
    growth: float = 1.2,
    migrations: str = "",
    sweep: Annotated[bool, Parameter(negative="--no-sweep")] = True,
    balancer: Flag = False,
    interval: str = "5m",
    seeds: int = RUNS,
    jobs: int | None = None,
    scheduler: str | None = None,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    report: Path | None = None,
    json: Json = False,
) -> int:
    """Simulate ready-made questions on a recording and answer in words, then in a table.

    The replay's verdict stands on top. Asked is: nothing, the policy in use, other scores,
    thresholds and limits, one node fewer, more nodes, more load, other limits on migrations, and
    a drain if a node is named. Exits with 1 if the recording is not to be trusted.

    Parameters
    ----------
    file
        A recording, written by `trimtab record`.
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
    seeds
        Runs of each question; they differ in what is left to chance.
    jobs
        Processes at a time. Default: all cores.
    scheduler
        Address of a Dask scheduler that runs the simulations.
    out
        A directory for answer.json, report.html, policy.yaml and, where they can say what won,
        a patch of OpenShift's KubeDescheduler and a VirtPlatformConfig.
    report
        Only the page with the cluster's pictures: a file that ends in .html, or a directory for
        report.html.
    """
    from trimtab.cli.record.lines import show_answer, show_replay_verdict
    from trimtab.model.recorded.archive import read_recording
    from trimtab.study.recorded.answer import conclude
    from trimtab.study.recorded.outputs import (
        kubedescheduler_patch,
        platform_config,
        winning_policy,
    )
    from trimtab.study.recorded.questions import WhatifOptions, policy_in_use, ready_questions
    from trimtab.study.recorded.replay import replay, verdict
    from trimtab.study.recorded.report import WhatifPage, render_whatif

    _check(more, growth, seeds)
    pages = _pages(out, report)
    recording = read_recording(file)
    asked = WhatifOptions(
        more=more,
        drain=drain,
        growth=growth,
        interval_s=parse_duration(interval, "--interval"),
        sweep=sweep,
        migrations=_pair(migrations),
        balancer=balancer,
    )
    mine = policy_in_use(recording, policy_text(policy))
    questions = ready_questions(recording, mine, asked)
    with progress("replay"):
        trust = replay(recording)
    if not json:
        show_replay_verdict(trust)
    chunks = simulated(questions, tuple(range(seeds)), engine_of(jobs, scheduler))
    answer = conclude(questions, chunks, trust, mine)
    emit(answer, json, show_answer)
    winner = next(each.spec for each in questions if each.name == answer.winner)
    won = winning_policy(mine, winner)
    if out is not None:
        patch, config = kubedescheduler_patch(mine, winner), platform_config(mine, winner)
        _write(out, answer, won, patch or "", config or "")
    if pages:
        found = WhatifPage(file.name, recording, questions, chunks, answer, verdict(trust), won)
        _write_pages(pages, render_whatif(found))
    return 0 if trust.trusted else 1


def _pages(out: Path | None, report: Path | None) -> list[Path]:
    """Where report.html goes; refused before the long work begins if it cannot go there."""
    found = []
    if out is not None:
        check_directory(out, "--out")
        found.append(out / "report.html")
    if report is not None and report.suffix == ".html":
        check_file(report, "--report")
        found.append(report)
    elif report is not None:
        check_directory(report, "--report")
        found.append(report / "report.html")
    return found


def _write_pages(pages: list[Path], text: str) -> None:
    for path in pages:
        with writing(path, "--report"):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
        err.print(f"open it in a browser: {path.resolve().as_uri()}", markup=False)


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


def _check(more: int, growth: float, seeds: int) -> None:
    if not 0 <= more <= 1000:
        raise ConfigError(f"--more {more}: must be within 0..1000")
    if not 0 < growth <= 100:
        raise ConfigError(f"--growth {growth:g}: must be above 0 and at most 100, e.g. 1.2")
    if not 1 <= seeds <= MOST_SEEDS:
        raise ConfigError(f"--seeds {seeds}: must be within 1..{MOST_SEEDS}")


def _write(out: Path, answer: "WhatifAnswer", policy: str, patch: str, config: str) -> None:
    from trimtab.study.recorded.answer import MINE

    files = {
        "answer.json": msgspec.json.format(msgspec.json.encode(answer), indent=2).decode(),
        "policy.yaml": policy,
        "kubedescheduler-patch.yaml": patch,
        "virtplatformconfig.yaml": config,
    }
    with writing(out, "--out"):
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            if text:
                write_whole(out / name, text)
            else:
                (out / name).unlink(missing_ok=True)  # of an earlier answer
    err.print(f"written to {out}: {', '.join(name for name, text in files.items() if text)}")
    if answer.winner == MINE:  # nothing to apply: the files hold what is there
        return
    if patch:
        err.print(
            "apply it: oc -n openshift-kube-descheduler-operator patch kubedescheduler cluster "
            f"--type merge --patch-file {out / 'kubedescheduler-patch.yaml'}",
            markup=False,
        )
    if config:
        err.print(
            f"or preview it: trimtab advisor plan -f {out / 'virtplatformconfig.yaml'}",
            markup=False,
        )
