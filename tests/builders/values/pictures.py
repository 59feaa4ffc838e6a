"""Pictures of the page: small ones drawn by Hypothesis, and a cluster of any size that moves."""

import random
from pathlib import Path

import msgspec
from hypothesis import strategies as st
from msgspec.structs import replace

from trimtab.web.feed.from_snapshot import imbalance
from trimtab.web.feed.picture import (
    ClusterState,
    MoveState,
    NodeState,
    Picture,
    VmState,
    difference,
)

NOON = 1_782_907_200.0
_names = st.sampled_from(["a", "b", "__proto__", "ns/vm-1", "<img src=x>"])
_share = st.none() | st.floats(0, 2)
_nodes = st.builds(
    NodeState, kind=st.sampled_from(["", "over", "under"]), cpu=_share, cordoned=st.booleans()
)
_vms = st.builds(VmState, node=_names, cpu=_share, evict=st.booleans())
_moves = st.builds(MoveState, vm=_names, target=_names, ended=st.booleans())

pictures = st.builds(
    Picture,
    at=st.floats(0, 1e9),
    cluster=st.builds(ClusterState, verdict=st.text(max_size=3), over=st.integers(0, 3)),
    nodes=st.dictionaries(_names, _nodes, max_size=3),
    vms=st.dictionaries(_names, _vms, max_size=3),
    moves=st.dictionaries(_names, _moves, max_size=2),
)


def a_picture(nodes: int, vms: int, *, seed: int = 0, at: float = NOON) -> Picture:
    """A cluster whose first nodes are hot."""
    draw = random.Random(seed)
    names = [f"node-{number}" for number in range(nodes)]
    weights = [3.0 if number < max(1, nodes // 10) else 1.0 for number in range(nodes)]
    homes = draw.choices(names, weights, k=vms)
    known = {
        f"team-{number % 7}/vm-{number}": VmState(
            node=home,
            cpu=round(draw.uniform(0.05, 2), 3),
            memory=draw.choice([1, 2, 4, 8]) * 2.0**30,
        )
        for number, home in enumerate(homes)
    }
    return levelled(names, known, at)


def levelled(names: list[str], vms: dict[str, VmState], at: float) -> Picture:
    """The picture that these VMs make: loads, classes around the mean, imbalance."""
    sums = {name: [0.0, 0.0] for name in names}
    for vm in vms.values():
        sums[vm.node][0] += vm.cpu or 0
        sums[vm.node][1] += vm.memory or 0
    percent = {name: min(100.0, 100 * used[0] / 64) for name, used in sums.items()}
    mean = sum(percent.values()) / len(percent)
    low, high = max(0.0, mean - 10), min(100.0, mean + 10)
    nodes = {
        name: NodeState(
            kind="over" if value > high else "under" if value < low else "appropriate",
            percent=round(value, 2),
            low=round(low, 2),
            high=round(high, 2),
            cpu=round(sums[name][0] / 64, 4),
            memory=round(sums[name][1] / 2.0**38, 4),
            pressure=0.01,
            capacity=(64.0, 2.0**38),
            zone=f"zone-{number % 3}",
        )
        for number, (name, value) in enumerate(percent.items())
    }
    over = sum(node.kind == "over" for node in nodes.values())
    cluster = ClusterState(
        verdict="a cycle now would evict nothing" if not over else f"{over} nodes are over",
        average=round(mean, 2),
        low=round(low, 2),
        high=round(high, 2),
        imbalance=imbalance(list(nodes.values())),
        over=over,
    )
    return Picture(at=at, cluster=cluster, nodes=nodes, vms=vms)


def a_move_begins(picture: Picture, vm: str, target: str) -> Picture:
    move = MoveState(vm=vm, source=picture.vms[vm].node, target=target, phase="PreCopy")
    cluster = replace(picture.cluster, moving=picture.cluster.moving + 1)
    moves = {**picture.moves, f"move-of-{vm}": move}
    return replace(picture, at=picture.at + 5, moves=moves, cluster=cluster)


def a_move_ends(picture: Picture, vm: str) -> Picture:
    """The VM is where its move brought it."""
    target = picture.moves[f"move-of-{vm}"].target
    vms = {**picture.vms, vm: replace(picture.vms[vm], node=target)}
    after = levelled(list(picture.nodes), vms, picture.at + 5)
    return replace(after, cluster=replace(after.cluster, moved=1))


class FeedFile:
    """A feed that grows, as `--keep` writes it."""

    def __init__(self, path: Path, first: Picture) -> None:
        self.path, self.last = path, first
        path.write_bytes(msgspec.json.encode(first) + b"\n")

    def add(self, picture: Picture) -> None:
        line = msgspec.json.encode(difference(self.last, picture)) + b"\n"
        self.last = picture
        with self.path.open("ab") as file:
            file.write(line)

    def add_at(self, picture: Picture, at: float) -> None:
        """The same picture at another moment."""
        self.add(replace(picture, at=at))
