"""How long a lab takes, by the wall clock and in CPU time, as the real command sees it.

Nothing here fails on wall time: other work on the machine decides it as much as we do, so the
load is printed beside each figure. Goals on an idle machine with two cores: `up` and both
ways to resume under 5 s, 1,000 nodes Ready under 25 s, `down` with a watch open under 3 s.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from builders.labs.lab import RunningLab
from trimtab.engines import cache_dir, locate
from trimtab.lab import Home

pytestmark = pytest.mark.engines

ROUNDS = 5


class Bench:
    """The `trimtab lab` command with a state directory of its own, and its lab."""

    def __init__(self, state: Path) -> None:
        self.lab = RunningLab(Home(state / "trimtab"), "default", ())
        engines = str(cache_dir(os.environ).parent.parent)
        self._env = {
            "PATH": os.defpath,
            "HOME": str(state),
            "XDG_STATE_HOME": str(state),
            "XDG_CACHE_HOME": engines,
        }

    def up(self, *options: str) -> float:
        """Start or resume a bare control plane; the seconds it took."""
        return self("up", "--with", "none", *options)

    def __call__(self, *arguments: str) -> float:
        """Run one command; the seconds it took."""
        begin = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "trimtab.cli", "lab", *arguments],
            env=self._env,
            check=True,
            capture_output=True,
            timeout=300,
        )
        return time.monotonic() - begin


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.lab.down()
    assert bench.lab.left_over() == []


def say(what: str, seconds: list[float], goal: str) -> None:
    spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
    median = statistics.median(seconds)
    load = os.getloadavg()[0]
    print(f"\n{what}: median {median:.2f} s of {len(seconds)} ({spread}), {goal}; load {load:.1f}")


def test_up_from_nothing(bench: Bench) -> None:
    def once() -> float:
        took = bench.up()
        bench("down")
        bench("wipe", "--yes")
        return took

    once()  # the programs' pages are in memory now
    say("lab up --with none, 5 nodes", [once() for _ in range(ROUNDS)], "goal 5")


def killed(lab: RunningLab) -> None:
    """kill -9 of the supervisor, which takes everybody along."""
    lab.kill("supervisor")


@pytest.mark.parametrize(
    ("what", "stop"),
    [
        pytest.param("down", lambda lab: lab.down(), id="down"),
        pytest.param("kill -9 of everything", killed, id="kill"),
    ],
)
def test_resume(bench: Bench, what: str, stop: Callable[[RunningLab], object]) -> None:
    bench.up()
    seconds = []
    for _ in range(ROUNDS):
        stop(bench.lab)
        seconds.append(bench.up())
    say(f"lab up after {what}", seconds, "goal 5")


def test_a_thousand_nodes(bench: Bench) -> None:
    took = bench.up("--nodes", "1000")
    used = {
        name: sum(psutil.Process(process.pid).cpu_times()[:2])
        for name, process in bench.lab.processes().items()
    }
    say("1,000 nodes Ready", [took], "goal 25")
    parts = ", ".join(f"{name} {cpu:.1f}" for name, cpu in used.items())
    print(f"  CPU of all processes {sum(used.values()):.1f} s: {parts}")
    assert len(bench.lab.get("nodes")["items"]) == 1000


def test_down_with_a_watch_open(bench: Bench) -> None:
    seconds: list[float] = []
    for _ in range(3):
        bench.up("--nodes", "1")
        kubectl = [str(locate("kubectl")), "--kubeconfig", str(bench.lab.kubeconfig)]
        with subprocess.Popen(
            [*kubectl, "get", "configmaps", "-A", "-w"], stdout=subprocess.PIPE, text=True
        ) as watch:
            assert watch.stdout is not None
            bench.lab.kubectl("create", "configmap", f"mark-{len(seconds)}")
            while f"mark-{len(seconds)}" not in watch.stdout.readline():
                pass
            seconds.append(bench("down"))
            watch.kill()
    say("lab down with a watch open", seconds, "goal 3")


def test_memory_of_each_process(bench: Bench) -> None:
    bench.up()
    sizes = {
        name: psutil.Process(process.pid).memory_info().rss / 2**20
        for name, process in bench.lab.processes().items()
    }
    print("\nmemory of a bare lab with 5 nodes, MiB resident:")
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"  {name:26}{size:6.0f}")
    print(f"  {'together':26}{sum(sizes.values()):6.0f}")
    assert sizes.keys() >= {"supervisor", "etcd", "kube-apiserver", "kwok"}
