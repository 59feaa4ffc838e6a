"""How long a lab takes, by the wall clock and in CPU time, as the real command sees it.

Nothing here fails on wall time: other work on the machine decides it as much as we do, so the
load is printed beside each figure. Goals on an idle machine with two cores: `up` and both
ways to resume under 5 s, 1,000 nodes Ready under 25 s, `down` with a watch open under 3 s.
"""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from builders.labs.bench import Bench, say
from builders.labs.lab import RunningLab
from trimtab.engines import locate

pytestmark = pytest.mark.engines

ROUNDS = 5


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.lab.down()
    assert bench.lab.left_over() == []


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
