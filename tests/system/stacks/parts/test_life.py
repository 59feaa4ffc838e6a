"""A loop that is stopped and resumed goes on: its VMs, its policy, what people changed."""

import pytest

from builders.labs.loops import LoopLab
from builders.waiting import wait_until
from trimtab.cli.lab import context
from trimtab.cli.main import app
from trimtab.stacks.loop.state.ready import await_cycle
from trimtab.view.loop import frame

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
    assert loop.state().algorithm == "cpu_focused"
    loop.start_over()
    after = uids(loop)
    assert after.keys() == before.keys() | {"calm-b-1"}
    assert not set(after.values()) & set(before.values())


def test_the_scenario_is_shown_and_only_again_makes_new_vms(
    loop: LoopLab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def scenario(*options: str) -> None:
        command = ["lab", "scenario", "--name", loop.lab.lab.name, *options]
        app(command, result_action="return_value", exit_on_error=False)

    monkeypatch.setattr(context, "home", lambda: loop.lab.home)
    before = uids(loop)
    scenario()
    assert capsys.readouterr().out == "one-hot-node: 5 nodes, 34 VMs\n"
    assert uids(loop) == before
    scenario("--again")
    after = uids(loop)
    assert not set(after.values()) & set(before.values())
    shown = frame(loop.state(), 80, 24).plain.splitlines()
    assert len(shown) <= 24
    assert max(map(len, shown)) <= 80


def uids(loop: LoopLab) -> dict[str, str]:
    return {vm.metadata.name: vm.metadata.uid for vm in loop.vms()}


def phase(loop: LoopLab, name: str) -> str:
    return next(vm.status.phase for vm in loop.vms() if vm.metadata.name == name)
