"""A loop that is stopped and resumed goes on: its VMs, its policy, what people changed."""

import pytest

from builders.loops import LoopLab, wait_until
from trimtab.loop.ready import await_cycle

pytestmark = pytest.mark.engines


def test_a_resumed_loop_has_the_same_vms_and_what_people_changed_meanwhile(loop: LoopLab) -> None:
    loop.lab.kubectl("delete", "vm", "calm-b-1", "--wait=true")
    loop.lab.kubectl("patch", "vm", "calm-b-2", "--type=merge", "-p", '{"spec":{"running":false}}')
    wait_until(lambda: phase(loop, "calm-b-2") == "Stopped", "it does not stop", 120)
    loop.algorithm("cpu_focused")
    before = uids(loop)
    loop.lab.down()
    loop.lab.up()
    loop.ask(lambda asked: await_cycle(asked.lab))
    assert uids(loop) == before
    assert phase(loop, "calm-b-2") == "Stopped"
    assert "calm-b-1" not in before
    assert loop.glance().algorithm == "cpu_focused"
    loop.start_over()
    after = uids(loop)
    assert after.keys() == before.keys() | {"calm-b-1"}
    assert not set(after.values()) & set(before.values())


def uids(loop: LoopLab) -> dict[str, str]:
    return {vm.metadata.name: vm.metadata.uid for vm in loop.vms()}


def phase(loop: LoopLab, name: str) -> str:
    return next(vm.status.phase for vm in loop.vms() if vm.metadata.name == name)
