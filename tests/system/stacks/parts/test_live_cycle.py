"""`trimtab sim --live` on a real loop: our decision, the real scheduler's answer.

The lab's own descheduler is stopped meanwhile: it would move the same VMs.
"""

import json
from typing import Any

import pytest

from builders.labs.loops import LoopLab
from builders.waiting import wait_until
from trimtab.cli.simulation.sim.commands import app
from trimtab.stacks.loop.settings import EXPORTER_TOKEN_FILE

pytestmark = pytest.mark.engines
HOT = "kwok-node-1"


def live(loop: LoopLab, capsys: pytest.CaptureFixture[bytes], *options: str) -> Any:
    ports = loop.lab.lab.read_spec().ports  # type: ignore[union-attr]
    urls = [f"http://127.0.0.1:{ports[name]}" for name in ("prometheus", "exporter")]
    token = f"--token-file={loop.lab.dir / EXPORTER_TOKEN_FILE}"
    code = app(
        ["--live", *urls, token, "--json", *options],
        result_action="return_value",
        exit_on_error=False,
    )
    assert code == 0
    return json.loads(capsys.readouterr().out)


def victims(told: Any) -> list[tuple[str, str]]:
    return [(move["vmId"], move["fromNode"]) for move in told["decision"]["wishes"]]


def places(loop: LoopLab) -> dict[str, str]:
    return {vm.metadata.name: vm.status.node_name for vm in loop.vms()}


def test_a_cycle_decided_here_is_carried_out_there(
    loop: LoopLab, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    with loop.stopped("descheduler"):
        loop.start_over()
        wait_until(
            lambda: [n.name for n in loop.state().nodes if n.kind == "over"] == [HOT],
            "the hot node alone is not over-utilised",
        )
        before = places(loop)
        planned = live(loop, capsysbinary, "--dry-run")
        assert places(loop) == before
        result = live(loop, capsysbinary)
        moves = result["moves"]
        assert [move["fromNode"] for move in moves] == [HOT, HOT]  # two a node
        # the same VMs, maybe for other targets: averages have moved on in between
        assert victims(planned) == victims(result)
        went = {move["vmId"]: move["actualNode"] for move in moves}
        assert HOT not in went.values()
        wait_until(
            lambda: places(loop) == before | went, "the VMs do not arrive where it was said", 120
        )
