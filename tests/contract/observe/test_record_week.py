"""A week of 1,000 VMs with publicly recorded loads: in little memory, and whatever is killed.

A day of some VMs runs everywhere; the week needs the public trace beside the project.
"""

import asyncio
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from msgspec import Struct

from builders.labs.kubevirt_metrics import prometheus_with
from builders.labs.recorded import a_launcher, a_node, arguments, grant
from builders.labs.trace_metrics import (
    DAY,
    DELAY,
    NODE_CORES,
    NODE_GIB,
    STEP_S,
    History,
    Table,
    a_history,
    drawn_shares,
    node_name,
    recorded_shares,
    vm_name,
    write_history,
)
from builders.proxies.prometheus import ScriptedPrometheus
from conformance.apiserver import ApiServer, running_apiserver
from trimtab.kube.client import Client
from trimtab.kube.resources import NODES, PODS
from trimtab.model.recorded.archive import read_recording
from trimtab.model.recorded.recording import ClusterRecording

pytestmark = pytest.mark.engines

TRACE = Path(__file__).parents[4] / "shared" / "data" / "google-2011-vms.npz"
MOST_MB = 500
MOST_QUERIES = 80
"""At one query in 30 seconds, as Thanos on OpenShift wants it, two thirds of an hour."""
DELAY_S, MOST_MORE = 1.0, 1
"""No answer comes sooner, so a kill costs two pieces, or some more if this computer is busy."""
LIMIT_S = 600.0
_MEASURED = """
import atexit, resource, sys
from pathlib import Path
from trimtab.cli.main import run

def tell():
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{peak.split()[1]} KiB, {used.ru_utime + used.ru_stime:.1f} CPU seconds",
          file=sys.stderr)

atexit.register(tell)
run()
"""


class Place(Struct, frozen=True):
    """What can be recorded, and where."""

    server: ApiServer
    prometheus: str
    history: History
    days: int

    def command(self, output: Path) -> list[str]:
        return arguments(self.server, self.prometheus, output, "--days", str(self.days))


@contextmanager
def place_of(history: History, days: int, directory: Path) -> Iterator[Place]:
    file = directory / "history.txt"
    write_history(file, history)
    with (
        running_apiserver() as server,
        # each block costs promtool another pass over the whole file
        prometheus_with(directory, file, "--max-block-duration=162h") as url,
        ScriptedPrometheus(url, [], delay_s=DELAY_S) as slow,
    ):
        file.unlink()  # more than a gigabyte
        asyncio.run(furnish(server, history))
        yield Place(server, slow.url, history, days)


async def furnish(server: ApiServer, history: History) -> None:
    async with Client.from_kubeconfig(server.kubeconfig) as client:
        await grant(client)
        for node in range(history.nodes):
            await client.create(NODES, a_node(node_name(node), NODE_CORES, f"{NODE_GIB}Gi"))
        for vm, home in enumerate(history.home.tolist()):
            await client.create(PODS, a_launcher(vm_name(vm), node_name(home), "4Gi"))


def test_a_day_over_two_upgrades_is_recorded_to_the_same_bytes_whatever_is_killed(
    tmp_path: Path,
) -> None:
    history = a_history(drawn_shares(40, seed=3), 1, 30, 3, time.time())
    with place_of(history, 1, tmp_path) as place:
        check_recorded(place, tmp_path, kills=2)


@pytest.mark.full
@pytest.mark.timeout(5400)
def test_a_week_of_1000_vms_is_recorded_in_little_memory_whatever_is_killed(
    tmp_path: Path,
) -> None:
    if not TRACE.exists():
        pytest.skip(f"the public trace {TRACE.name} is not beside the project in shared/data")
    history = a_history(recorded_shares(TRACE), 7, 1000, 25, time.time())
    with place_of(history, 7, tmp_path) as place:
        check_recorded(place, tmp_path, kills=10)


def check_recorded(place: Place, directory: Path, kills: int) -> None:
    output, whole = directory / "my.trimtab", directory / "whole.trimtab"
    kill_often(place.command(output), output, whole, kills)
    measured(place.command(output))
    said = measured(place.command(whole))
    peak_kib, cpu_s = map(float, re.findall(r"(\d+) KiB, ([\d.]+) CPU", said)[0])
    queries = int(re.findall(r"by (\d+) queries", said)[0])
    size = whole.stat().st_size
    print(
        f"\n{place.history.cpu.shape[1]} VMs x {place.days} days: {peak_kib / 1024:.0f} MiB, "
        f"{cpu_s:.0f} CPU seconds, {queries} queries, archive {size / 1e6:.1f} MB"
    )
    assert peak_kib * 1024 < MOST_MB * 1e6
    assert queries <= MOST_QUERIES
    assert output.read_bytes() == whole.read_bytes()
    check_loads(read_recording(whole), place)


def measured(command: list[str]) -> str:
    """Run it; what it said on stderr, its peak of memory at the end."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def kill_often(command: list[str], output: Path, whole: Path, kills: int) -> None:
    """Recordings that are killed at some moment; the look of the first is kept for `whole`.

    What a cluster is like changes from second to second, so both must begin with the same look.
    """
    chance = random.Random(11)
    parts = output.with_name(f"{output.name}.parts")
    for kill in range(kills):
        had = len(list(parts.glob("*.part")))
        process = subprocess.Popen(
            [sys.executable, "-m", "trimtab.cli", *command], stderr=subprocess.DEVNULL
        )
        more = chance.randint(0, MOST_MORE)
        deadline = time.monotonic() + LIMIT_S
        while len(list(parts.glob("*.part"))) < had + more or not (parts / "begun.json").exists():
            assert process.poll() is None, "it ended before it was killed"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, DELAY_S))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not output.exists(), "it was done too early to be killed"
        if kill == 0:
            beside = whole.with_name(f"{whole.name}.parts")
            beside.mkdir(mode=0o700)
            shutil.copy(parts / "begun.json", beside)


def check_loads(recording: ClusterRecording, place: Place) -> None:
    """Everything is what the trace says; where one series ended and another began, nearly."""
    manifest, history = recording.manifest, place.history
    assert manifest.moments == place.days * DAY
    assert manifest.vms == tuple(f"shop/{vm_name(vm)}" for vm in range(history.cpu.shape[1]))
    first = round((manifest.start - history.start) / STEP_S)
    steps = np.arange(first, first + manifest.moments)
    upgraded = np.isin(
        steps, [begun + k for begun in list(history.versions.values())[1:] for k in range(3)]
    )
    assert upgraded.sum() == 6
    error = np.abs(recording.vm_cpu - expected_cpu(history, steps))
    assert float(error[~upgraded].max()) < 2e-3, "counters have two decimals"
    assert float(np.median(error[upgraded])) < 0.5
    assert np.allclose(np.median(recording.vm_delay), DELAY, rtol=0.02)
    assert np.allclose(recording.vm_memory, history.memory[steps - 1], rtol=1e-6)
    assert (recording.placement == history.home).all()
    beside = recording.node_cpu - recording.vms_on_nodes(recording.vm_cpu)
    assert float(np.abs(beside[~upgraded]).max()) < 0.1


def expected_cpu(history: History, steps: "np.ndarray[tuple[int], np.dtype[np.int_]]") -> Table:
    """(moments, vms): rates are over the newest four scrapes, which span three steps."""
    return np.asarray(sum(history.cpu[steps - back] for back in (1, 2, 3)) / 3)
