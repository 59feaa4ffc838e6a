"""Heartbeats of many nodes: several at a time, and one with every label that is put back."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import convert

from trimtab.kube.client import Client
from trimtab.kube.resources import Key, Node
from trimtab.player import service
from trimtab.player.nodes import HEARTBEAT
from trimtab.player.service import BEATERS, Player
from trimtab.player.settings import PlayerSettings
from trimtab.virt.launcher import SCHEDULABLE

NOON, NOON_TEXT = 1_767_268_800.0, "2026-01-01T12:00:00Z"


class Kubelet:
    """Keeps what is written; a slow one answers never."""

    def __init__(self, *, slow: bool = False) -> None:
        self.slow = slow
        self.written: list[tuple[str, dict[str, Any]]] = []

    async def patch(self, _: object, name: str, patch: dict[str, Any], **__: object) -> None:
        self.written.append((name, patch))
        if self.slow:
            await asyncio.Event().wait()


def a_player(kubelet: Kubelet, nodes: int, **labels: str) -> Player:
    client = cast(Client, kubelet)
    settings = PlayerSettings(handler_kubeconfig=Path("unused"))
    player = Player(client, client, settings, now=lambda: NOON)
    for number in range(nodes):
        meta = {"name": f"n{number}", "resourceVersion": "1", "labels": labels}
        status = {"conditions": [{"type": "Ready", "status": "True"}]}
        player.nodes.store.put(convert({"metadata": meta, "status": status}, Node))
    return player


async def turns_of_the_loop(beating: asyncio.Task[None], turns: int = 100) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)
    beating.cancel()
    with pytest.raises(asyncio.CancelledError):
        await beating


async def test_a_slow_answer_for_one_node_does_not_hold_up_all_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(service, "heartbeat_every_s", lambda _nodes: 0.0)
    kubelet = Kubelet(slow=True)
    player = a_player(kubelet, nodes=5 * BEATERS)
    await turns_of_the_loop(asyncio.create_task(player.beat()))
    assert [name for name, _ in kubelet.written] == [f"n{number}" for number in range(BEATERS)]


async def test_heartbeats_are_spread_over_their_interval() -> None:
    kubelet = Kubelet()
    await turns_of_the_loop(asyncio.create_task(a_player(kubelet, nodes=50).beat()))
    assert kubelet.written == [("n0", {"metadata": {"annotations": {HEARTBEAT: NOON_TEXT}}})]


async def test_a_label_that_kubevirt_took_away_comes_back_with_a_heartbeat() -> None:
    kubelet = Kubelet()
    player = a_player(kubelet, 1, **{SCHEDULABLE: "false"})
    await player._fit(Key("", "n0"))
    (_, patch), *_ = kubelet.written
    assert patch["metadata"]["labels"][SCHEDULABLE] == "true"
    assert patch["metadata"]["annotations"] == {HEARTBEAT: NOON_TEXT}
