"""What dies comes back; what was there is still there."""

import os
import random
import signal
from collections.abc import Iterator
from contextlib import suppress

import pytest

from builders.labs.lab import RunningLab, running_lab
from builders.waiting import wait_until

pytestmark = pytest.mark.engines

ROUNDS = 50 if os.environ.get("TRIMTAB_TEST_FULL") else 10
KEEP = 20


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningLab]:
    with running_lab(tmp_path_factory, nodes=3) as lab:
        yield lab


def targets(rounds: int) -> list[str]:
    """Each component and the supervisor once in every six, in a random but repeatable order."""
    everybody = [
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kwok",
        "supervisor",
    ]
    chance = random.Random(rounds)
    return [name for _ in range(rounds) for name in chance.sample(everybody, 6)][:rounds]


def run_a_pod(lab: RunningLab, name: str) -> None:
    """Everybody is needed for that; kubectl labels the pod with `run`."""
    lab.kubectl("run", name, "--image=none")

    def is_ready() -> bool:
        conditions = lab.get("pod", name)["status"].get("conditions", ())
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    wait_until(is_ready, f"pod {name} is not Ready")


def test_the_lab_recovers_from_the_death_of_anyone_with_its_objects(lab: RunningLab) -> None:
    lab.kubectl("create", "deployment", "kept", "--image=none", f"--replicas={KEEP}")
    lab.kubectl("rollout", "status", "deployment/kept", "--timeout=300s")
    before = {pod["metadata"]["uid"] for pod in lab.get("pods")["items"]}
    ports = lab.status().ports
    for number, name in enumerate(targets(ROUNDS)):
        lab.kill(name)
        if name == "supervisor":
            wait_until(lambda: lab.left_over() == [], "the children outlived the supervisor")
            assert lab.status().phase == "died"
            lab.up()
        lab.await_ready()
        run_a_pod(lab, f"after-{number}-{name}")
    lab.kubectl("delete", "pod", "-l", "run", "--grace-period=0", "--force")
    assert {pod["metadata"]["uid"] for pod in lab.get("pods")["items"]} == before
    assert lab.status().ports == ports, lab.reports


def test_deaths_are_counted_and_told(lab: RunningLab) -> None:
    lab.await_ready()
    before = {unit.name: unit for unit in lab.status().units}["kube-scheduler"]
    lab.kill("kube-scheduler")
    wait_until(
        lambda: (
            {u.name: u.restarts for u in lab.status().units}["kube-scheduler"]
            == before.restarts + 1
        ),
        "the restart is not in the status",
    )
    lab.await_ready()
    log = lab.lab.log("supervisor").read_text()
    assert '"unit": "kube-scheduler", "state": "backing-off", "message": "killed by SIGKILL"' in log


def test_kill_9_of_everything_at_once_loses_nothing(lab: RunningLab) -> None:
    lab.await_ready()
    lab.kubectl("create", "configmap", "precious", "--from-literal=a=b")
    for name in ("supervisor", *(n for n in lab.processes() if n != "supervisor")):
        with suppress(KeyError, ProcessLookupError):  # it died with the supervisor
            lab.kill(name)
    assert lab.status().phase == "died"
    assert lab.up() == "resumed"
    assert lab.get("configmap", "precious")["data"] == {"a": "b"}


def test_a_restart_of_one_component_leaves_the_others_alone(lab: RunningLab) -> None:
    from trimtab.lab import control

    lab.await_ready()
    before = lab.processes()
    control.ask(lab.lab, control.RestartComponent("kwok"))
    after = lab.processes()
    assert {name for name in before if before[name] != after[name]} == {"kwok"}
    run_a_pod(lab, "after-kwok")


def test_up_brings_back_what_was_given_up_and_all_that_needs_it(lab: RunningLab) -> None:
    lab.await_ready()

    def state(name: str) -> str:
        return {unit.name: unit.state for unit in lab.status().units}[name]

    def killed_again() -> bool:
        """kill -9 whenever it runs, until the supervisor has had enough."""
        process = lab.processes().get("etcd")
        if process is not None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        return state("etcd") == "gave-up"

    wait_until(killed_again, "etcd is started for ever")
    wait_until(lambda: state("kube-apiserver") == "unhealthy", "nobody misses etcd")
    assert lab.up() == "repaired"
    assert lab.status().phase == "ready"
    assert lab.reports[-1] == "etcd had been given up; it is tried again"
    assert lab.get("nodes")["items"]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        pytest.param(("delete", "configmap", "clock"), "is gone", id="lost"),
        pytest.param(
            ("patch", "configmap", "clock", "-p", '{"data":{"epoch":"banana"}}'),
            "says epoch banana, scale 1 instead of epoch ",
            id="bad",
        ),
    ],
)
def test_a_lost_or_bad_clock_is_told_and_put_back(
    lab: RunningLab, damage: tuple[str, ...], said: str
) -> None:
    lab.await_ready()
    clock = lab.get("configmap", "clock", "-n", "trimtab-system")["data"]
    lab.kubectl(*damage, "-n", "trimtab-system")

    def told() -> bool:
        return any(said in text and "lab up" in text for text in lab.status().warnings)

    wait_until(told, "nobody misses the clock")
    assert lab.up() == "repaired"
    assert said in lab.reports[-1]
    assert lab.get("configmap", "clock", "-n", "trimtab-system")["data"] == clock
    wait_until(lambda: lab.status().warnings == (), "the warning stays")
    assert lab.up() == "unchanged"
