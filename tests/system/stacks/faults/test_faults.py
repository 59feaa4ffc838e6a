"""kill -9 in the middle of the loop: nothing is lost, nothing is invented, metrics come right."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from builders.labs.loops import LoopLab, above_the_band, vm_of
from builders.proxies.trouble import TROUBLES, troubled
from builders.waiting import LIMIT_S, wait_until
from builders.witnesses.invariants import Witness, guarded

pytestmark = pytest.mark.engines

IN_EVERY_RUN = ("vm-controller", "webhook", "descheduler")
EVERYTHING = (
    *IN_EVERY_RUN,
    *("exporter", "prometheus", "projector", "kube-scheduler", "kube-apiserver", "etcd", "kwok"),
)


@contextmanager
def a_loop_at_work(loop: LoopLab) -> Iterator[Witness]:
    """From the first two marks until it is quiet again, with a witness; then all is in order."""
    loop.algorithm("linear_amplified_ippd_k3")
    loop.start_over()
    with guarded(loop.lab.kubeconfig) as witness:
        loop.await_migrations(2)
        yield witness
        loop.lab.await_ready()
        loop.await_quiet()
        check_order(loop)
    witness.check()


def check_order(loop: LoopLab) -> None:
    """Every VM runs in its one pod, and everybody counts the same."""
    vms = loop.vms()
    pods = loop.lab.get("pods", "-n", "default", "-l", "app=virt-launcher")["items"]
    alive = {p["metadata"]["name"] for p in pods if "deletionTimestamp" not in p["metadata"]}
    assert alive == {vm.status.pod_name for vm in vms}
    assert [vm.status.phase for vm in vms] == ["Running"] * len(vms)
    assert loop.in_flight() == []
    real = Counter(vm.status.node_name for vm in vms)

    def counted() -> bool:
        seen = loop.query("node_vm_count")
        return all(seen[node] == real[node] for node in seen) and sum(seen.values()) == len(vms)

    wait_until(counted, "Prometheus does not count every VM where it is", LIMIT_S)
    assert above_the_band(loop.state()) == []


def check_marks_and_moves(loop: LoopLab) -> None:
    """No mark was lost: every VM that was marked has moved; none moved without."""
    assert moved_vms(loop) == marked_vms(loop)


def moved_vms(loop: LoopLab) -> set[str]:
    return {m.spec.vm_name for m in loop.migrations() if m.status.phase == "Succeeded"}


def marked_vms(loop: LoopLab) -> set[str]:
    return {vm_of(pod) for pod in loop.marked()}


def test_three_kills_in_the_middle_of_the_loop_cost_no_vm_and_no_mark(loop: LoopLab) -> None:
    with a_loop_at_work(loop):
        for component in IN_EVERY_RUN:
            loop.lab.kill(component)
            loop.lab.await_ready()
    check_marks_and_moves(loop)


def test_conflicts_errors_and_lost_answers_cost_no_vm_and_no_mark(loop: LoopLab) -> None:
    with a_loop_at_work(loop), troubled(loop.lab, "vm-controller", "webhook") as happened:
        wait_until(lambda: all(happened[each] >= 3 for each in TROUBLES), "there is no trouble")
    # a mark whose writing nobody heard of is not told of either, but it counts
    asked = {vm_of(request.pod) for request in loop.requests()}
    assert marked_vms(loop) <= moved_vms(loop) <= asked


@pytest.mark.full
@pytest.mark.parametrize("component", EVERYTHING)
def test_a_killed_part_costs_no_vm_and_no_mark(loop: LoopLab, component: str) -> None:
    with a_loop_at_work(loop):
        loop.lab.kill(component)
    check_marks_and_moves(loop)


@pytest.mark.full
def test_a_second_controller_takes_over_and_never_acts_beside_the_first(loop: LoopLab) -> None:
    with a_loop_at_work(loop), a_second_controller(loop):
        loop.lab.kill("vm-controller")
        loop.await_quiet()
    check_marks_and_moves(loop)


@contextmanager
def a_second_controller(loop: LoopLab) -> Iterator[None]:
    command = [sys.executable, "-m", "trimtab.cli", "run", "vm-controller", "--port=0"]
    config = loop.lab.dir / "pki/vm-controller.kubeconfig"
    with (loop.lab.dir / "logs/second-controller.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, f"--kubeconfig={config}"], cwd=loop.lab.dir, env=os.environ, stderr=log
        )
        try:
            yield
        finally:
            process.terminate()
            assert process.wait(LIMIT_S) == 0
