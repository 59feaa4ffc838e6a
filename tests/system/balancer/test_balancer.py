"""The balancer on a real control plane: it levels without evictions and survives being killed."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx2
import pytest

from builders.labs.loops import LoopLab, running_loop
from builders.waiting import LIMIT_S, wait_until
from trimtab.balancer.requests import RebalanceRequests
from trimtab.balancer.wire import REBALANCE_PLANS, RebalancePlan
from trimtab.kube.errors import Invalid
from trimtab.kube.virtual_machines import PLAN_LABEL, VirtualMachineMigration
from trimtab.lab.components.identity import kubeconfig_file
from trimtab.stacks.balancer.stack import BalancerStackSettings, balancer_stack

pytestmark = pytest.mark.engines


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopLab]:
    """A hot lab in which the balancer acts and the descheduler runs dry."""
    stacks = (balancer_stack(BalancerStackSettings(mode="act")),)
    with running_loop(tmp_path_factory, beside=stacks, settings={"dry_run": True}) as found:
        yield found


def plans_of(loop: LoopLab) -> list[RebalancePlan]:
    return list(loop.ask(lambda it: it.api.list(REBALANCE_PLANS)))


def ended_level(loop: LoopLab) -> bool:
    """The newest plan is over and left nothing above the band."""
    plans = sorted(plans_of(loop), key=lambda plan: str(plan.spec.made_at))
    return bool(plans) and plans[-1].over and plans[-1].status.excess_now == 0


def by_plan(loop: LoopLab) -> list[VirtualMachineMigration]:
    return [each for each in loop.migrations() if PLAN_LABEL in each.metadata.labels]


def has_begun(loop: LoopLab, former: set[str], number: int) -> bool:
    return len({each.metadata.uid for each in by_plan(loop)} - former) >= number


def lost_its_vm(each: VirtualMachineMigration) -> bool:
    """`start_over` deleted the VM in the moment in which the balancer asked for its migration."""
    return any(words in each.status.reason for words in ("is being deleted", "there is no VM"))


def check_no_double_move(loop: LoopLab, former: Collection[str] = ()) -> None:
    """Of the migrations that were not there before: each succeeded, and no VM had two."""
    new = [each for each in by_plan(loop) if each.metadata.uid not in former]
    every = [each for each in new if not lost_its_vm(each)]
    moved = Counter(each.spec.vm_name for each in every)
    assert {vm: moves for vm, moves in moved.items() if moves > 1} == {}
    badly = [each for each in every if each.status.phase != "Succeeded"]
    assert [(each.spec.vm_name, each.status.phase, each.status.reason) for each in badly] == []


def test_a_hot_node_is_levelled_with_migrations_and_without_one_eviction(loop: LoopLab) -> None:
    wait_until(lambda: ended_level(loop), "the balancer does not level the hot node")
    assert loop.marked() == set()
    assert 0 < len(by_plan(loop)) == len(loop.migrations())
    check_no_double_move(loop)
    for plan in plans_of(loop):
        assert plan.status.phase == "Completed", plan
        assert [move.outcome for move in plan.status.moves] == ["Succeeded"] * len(plan.spec.moves)


def test_a_plan_is_taken_back_as_far_as_possible(loop: LoopLab) -> None:
    wait_until(lambda: ended_level(loop), "the balancer does not level the hot node")
    first = min(plans_of(loop), key=lambda plan: str(plan.spec.made_at))
    moved = first.spec.moves[0]

    undone = loop.ask(lambda it: RebalanceRequests(it.api).undo(first.metadata.name))
    assert undone.plan is not None
    name = undone.plan.metadata.name
    over = loop.ask(lambda it: RebalanceRequests(it.api).await_over(name, 300.0))
    assert over.status.phase == "Completed"
    places = {str(vm.metadata.key): vm.status.node_name for vm in loop.vms()}
    assert places[moved.vm] == moved.source


def acting(loop: LoopLab) -> list[str]:
    """Plans that the balancer made to act on; those that take a plan back have another mode."""
    return [plan.metadata.name for plan in plans_of(loop) if plan.spec.mode == "act"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"approvedPlan": "0" * 16}, "must be this plan's planId", id="another plan"),
        pytest.param({"moves": []}, "a changed plan is another plan", id="other moves"),
        pytest.param({"mode": "propose"}, "a changed plan is another plan", id="another mode"),
        pytest.param({"planId": "1" * 16}, "a changed plan is another plan", id="another hash"),
    ],
)
def test_the_api_server_refuses_what_would_change_a_plan(
    loop: LoopLab, change: dict[str, object], words: str
) -> None:
    wait_until(lambda: acting(loop), "there is no plan")
    name = acting(loop)[0]
    with pytest.raises(Invalid, match=words):
        loop.ask(lambda it: it.api.patch(REBALANCE_PLANS, name, {"spec": change}))


@pytest.mark.full  # at each write in turn: test_crashes
def test_killed_in_the_middle_it_goes_on_and_moves_no_vm_twice(loop: LoopLab) -> None:
    former = {each.metadata.uid for each in loop.migrations()}
    loop.start_over()
    for number in range(1, 4):
        wait_until(partial(has_begun, loop, former, number), "nothing moves")
        loop.lab.kill("balancer")
    wait_until(lambda: ended_level(loop), "it does not go on after being killed")
    check_no_double_move(loop, former)


def test_of_two_replicas_one_leads_and_the_other_takes_over(loop: LoopLab, tmp_path: Path) -> None:
    first, former = loop.lab.urls["balancer"], {each.metadata.uid for each in loop.migrations()}
    with second_replica(loop, tmp_path) as second:
        wait_until(lambda: ready(second), "the second replica does not start")
        assert [leads(first), leads(second)] == [True, False]
        with loop.stopped("balancer"):
            wait_until(lambda: leads(second), "nobody takes over from a leader that hangs")
        wait_until(lambda: not leads(first), "the former leader does not notice")
        assert leads(second)
    check_no_double_move(loop, former)


def leads(url: str) -> bool:
    return httpx2.get(f"{url}/healthz", timeout=60.0).json()["leading"] is True


def ready(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/readyz", timeout=60.0).status_code == 200
    except httpx2.HTTPError:
        return False


@contextmanager
def second_replica(loop: LoopLab, log_dir: Path) -> Iterator[str]:
    """Another process under the same account; it listens one port further."""
    port = int(loop.lab.urls["balancer"].rpartition(":")[2]) + 50
    command = (
        *(sys.executable, "-m", "trimtab.cli", "run", "balancer", "--mode=act"),
        *(f"--kubeconfig={kubeconfig_file('balancer')}", f"--port={port}"),
        *("--beside-descheduler", "--per-hour=100"),
    )
    with (log_dir / "second.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=loop.lab.dir, stdout=log, stderr=log)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            os.kill(process.pid, signal.SIGTERM)
            process.wait(LIMIT_S)
