"""`trimtab record`: a cluster's objects and load history in one archive, and a look into it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from msgspec import Struct

from trimtab.cli.cluster.live import background_gate, lab_prometheus, loop_of, policy_in_use
from trimtab.cli.cluster.options import NOWHERE, LookOptions
from trimtab.cli.cluster.prometheus import open_prometheus
from trimtab.cli.cluster.which import Cluster
from trimtab.cli.common.output import Flag, Json, emit, examples
from trimtab.cli.common.output_files import check_file, writing
from trimtab.errors import ConfigError
from trimtab.kube.client import Client
from trimtab.model.duration import parse_duration
from trimtab.model.recorded.archive import read_recording, write_recording
from trimtab.model.recorded.recording import ClusterRecording
from trimtab.observe.policy_source import Source
from trimtab.observe.record.anonymous import anonymous
from trimtab.observe.record.recorder import Recorder, Wanted, begun_in, discard, parts_of
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.prom.client import Prometheus
from trimtab.view.record import (
    Display,
    show_interrupted,
    show_recorded,
    show_recording,
    summary_of,
)
from trimtab.view.terminal import progress

ANSWER_S = 150.0
"""How long an answer may take: Prometheus itself gives up after two minutes."""
OPENSHIFT_PACE = "30s"
MOST_JITTER = 0.5
INTERRUPTED = 130

app = App(
    name="record",
    help="Write a cluster's objects and its load of the last days into one archive.",
    help_epilogue=examples(
        "trimtab record -o my.trimtab --prometheus http://127.0.0.1:9090",
        "trimtab record --context prod --prometheus https://thanos-querier-openshift-monitoring."
        "apps.example.com --days 14 -o my.trimtab",
        "trimtab record --lab default --days 0.02 --step 15s -o lab.trimtab",
        "trimtab record --pods app=web --prometheus http://127.0.0.1:9090 -o web.trimtab",
        "trimtab record --kubeconfig F --prometheus URL --anonymise --jitter 0.02 -o show.trimtab",
        "trimtab record show my.trimtab",
    ),
)


@app.default
def record(
    *,
    output: Annotated[Path, Parameter(name=("--output", "-o"))],
    live: LookOptions = NOWHERE,
    days: float = 7.0,
    step: str = "5m",
    pace: str = "",
    pods: str = "",
    anonymise: Flag = False,
    jitter: float = 0.0,
    fresh: Flag = False,
) -> int:
    """Read a cluster and its Prometheus, without changing anything, and write the archive.

    Loads are asked for in pieces that are kept in OUTPUT.parts: after Ctrl-C, a kill or a lost
    connection the same command goes on where it was.

    Parameters
    ----------
    output
        The archive; my.trimtab, say.
    days
        How far back.
    step
        Time between two moments.
    pace
        At least this long between two queries; 30s against Thanos on OpenShift, as its makers
        ask for, otherwise 0s.
    pods
        A label selector: record these pods instead of VMs.
    anonymise
        Replace every name by a pseudonym.
    jitter
        With --anonymise: change the load of each VM by up to this share; nodes keep their sums.
    fresh
        Forget an unfinished recording and begin anew.
    """
    check_file(output, "--output")
    step_s = parse_duration(step, "--step")
    _check(days, step_s, jitter, anonymise)
    cluster = live.cluster()
    with parts_of(output) as directory:
        if fresh:
            for each in directory.glob("*[.]*"):
                each.unlink()
        asked = _Asked(days, step_s, pace, pods)
        try:
            made, seed, queried = asyncio.run(_read(live, cluster, directory, asked))
        except KeyboardInterrupt:
            show_interrupted(directory)
            return INTERRUPTED
        shown = anonymous(made, jitter, seed) if anonymise else made
        with writing(output, "--output"):
            write_recording(shown, output)
        discard(directory)
    show_recorded(shown, output, queried)
    return 0


def _check(days: float, step_s: float, jitter: float, anonymise: bool) -> None:
    if not days > 0:
        raise ConfigError(f"--days {days:g}: must be above 0")
    if not step_s >= 1:
        raise ConfigError("--step: must be at least a second")
    if step_s > days * 86_400:
        raise ConfigError("--step: must not be longer than --days")
    if not 0 <= jitter <= MOST_JITTER:
        raise ConfigError(f"--jitter {jitter:g}: must be within 0..{MOST_JITTER:g}")
    if jitter and not anonymise:
        raise ConfigError("--jitter: of no use without --anonymise")


class _Asked(Struct, frozen=True):
    """The options as they were given."""

    days: float
    step_s: float
    pace: str
    pods: str

    def pace_s(self, url: str) -> float:
        usual = OPENSHIFT_PACE if "thanos" in url or "openshift" in url else "0s"
        return parse_duration(self.pace or usual, "--pace")


async def _read(
    live: LookOptions, cluster: Cluster, directory: Path, asked: _Asked
) -> tuple[ClusterRecording, int, int]:
    async with _connections(live, cluster, asked) as (client, prometheus, policy, notes):
        url = prometheus.url if prometheus is not None else ""
        pace_s = asked.pace_s(url)
        recorder = Recorder(client, prometheus, directory, pace_s)
        wanted = Wanted(
            client.server,
            url,
            asked.days,
            asked.step_s,
            asked.pods,
            live.policy,
            background_gate(live, cluster),
        )
        begun = begun_in(directory, wanted)
        with progress("record") as steps:
            display = Display(steps, resumed=begun is not None)
            if begun is None:
                begun = await recorder.begin(wanted, policy, notes)
            display.sources(begun.sources, pace_s)
        total = display.total(begun)
        with progress("record", total) as steps:
            made = await recorder.read(begun, display.into(steps))
    return made, begun.seed, prometheus.pace.turns if prometheus is not None else 0


@asynccontextmanager
async def _connections(
    live: LookOptions, cluster: Cluster, asked: _Asked
) -> AsyncIterator[tuple[Client, Prometheus | None, Source, tuple[str, ...]]]:
    async with cluster.connect() as client:
        policy, notes = await _policy(live, cluster, client)
        url = live.prometheus or lab_prometheus(cluster)
        async with open_prometheus(
            url, live.access, client, limit_s=ANSWER_S, pace_s=asked.pace_s(url)
        ) as prometheus:
            yield client, prometheus, policy, notes


async def _policy(
    live: LookOptions, cluster: Cluster, client: Client
) -> tuple[Source, tuple[str, ...]]:
    """The policy in use, or the default one with a note that it stands for none."""
    try:
        return await policy_in_use(live, cluster, client), ()
    except ConfigError:
        if live.policy or loop_of(cluster) is not None:
            raise
        note = "no descheduler's policy was found: trimtab's default stands for it"
        return Source(DEFAULT_POLICY, "trimtab's default policy"), (note,)


@app.command(
    help_epilogue=examples(
        "trimtab record show my.trimtab", "trimtab record show my.trimtab --json | jq .findings"
    )
)
def show(file: Path, /, *, json: Json = False) -> None:
    """What is in a recording: its period, sizes, migrations, loads, sources, and what was repaired.

    Parameters
    ----------
    file
        A recording.
    """
    recording = read_recording(file)
    emit(recording, json, show_recording, summary_of(recording))
