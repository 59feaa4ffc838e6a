"""Which changes of a node make the player look at the VMIs on it."""

from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import convert

from trimtab.kube.client import Client
from trimtab.kube.kubevirt import Vmi
from trimtab.kube.resources import Node
from trimtab.player.nodes import HEARTBEAT
from trimtab.player.service import Player
from trimtab.player.settings import PlayerSettings

NOBODY = cast(Client, None)


def a_node(ready: str, version: str, **notes: str) -> Node:
    meta: dict[str, Any] = {"name": "n1", "resourceVersion": version, "annotations": notes}
    status = {"conditions": [{"type": "Ready", "status": ready}]}
    return convert({"metadata": meta, "status": status}, Node)


@pytest.fixture
def player() -> Player:
    player = Player(NOBODY, NOBODY, PlayerSettings(handler_kubeconfig=Path("unused")))
    meta = {"name": "vm", "namespace": "default", "resourceVersion": "1"}
    status = {"phase": "Running", "nodeName": "n1"}
    player.vmis.store.put(convert({"metadata": meta, "status": status}, Vmi))
    player.nodes.store.put(a_node("True", "1"))
    player.controller._running = True
    return player


@pytest.mark.parametrize(
    ("after", "looked_at"),
    [
        pytest.param(a_node("True", "2", **{HEARTBEAT: "now"}), 0, id="a heartbeat"),
        pytest.param(a_node("False", "2"), 1, id="it is lost"),
    ],
)
async def test_vmis_are_looked_at_when_their_handler_dies_not_when_it_beats(
    player: Player, after: Node, looked_at: int
) -> None:
    player.nodes.store.put(after)
    assert player.controller.queue.ready == looked_at
