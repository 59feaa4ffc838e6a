"""One change to a snapshot: what it says, and how it is applied to the policy's text."""

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from trimtab.model.snapshot import Snapshot, SnapshotNode, SnapshotPod
from trimtab.policy.file.yaml_text import dump_yaml, load_yaml

Tree = dict[str, Any]
Where = Literal["policy", "query", "sample", "node", "pod", "in flight"]


class SnapshotChange(Struct, frozen=True, rename="camel"):
    """A single change. `size` is in percentage points, evictions or things, whatever changes."""

    where: Where
    what: str
    """An imperative sentence."""
    size: float
    evictions: int = 0
    """How many pods the cycle would then evict."""


class UntriedChange(Struct, frozen=True):
    """A change and the snapshot that it leads to; it was not tried yet."""

    change: SnapshotChange
    snapshot: Snapshot
    group: str = ""
    """Attempts that are alike: once one of them works the others are not tried."""


def in_policy(
    snapshot: Snapshot, what: str, edit: Callable[[Tree], None], size: float = 1.0
) -> UntriedChange:
    """Change the text of the policy; comments go, the rest stays as it was."""
    return UntriedChange(SnapshotChange("policy", what, size), edited(snapshot, edit))


def single_change(where: Where, what: str, snapshot: Snapshot, group: str = "") -> UntriedChange:
    """Change one thing of what was seen; `snapshot` has it changed."""
    return UntriedChange(SnapshotChange(where, what, 1.0), snapshot, group)


def edited(snapshot: Snapshot, edit: Callable[[Tree], None]) -> Snapshot:
    tree: Tree = load_yaml(snapshot.policy, "policy")
    edit(tree)
    return replace(snapshot, policy=dump_yaml(tree))


def args_of(tree: Tree, profile: int, plugin: str) -> Tree:
    """The arguments of a plugin, of which the first entry counts; made if there are none."""
    configs = tree["profiles"][profile].setdefault("pluginConfig", [])
    for config in configs:
        if config.get("name") == plugin:
            if not config.get("args"):
                config["args"] = {}
            args: Tree = config["args"]
            return args
    configs.append({"name": plugin, "args": {}})
    made: Tree = configs[-1]["args"]
    return made


def with_node(snapshot: Snapshot, changed: SnapshotNode) -> Snapshot:
    """The node of that name replaced."""
    nodes = tuple(changed if node.name == changed.name else node for node in snapshot.nodes)
    return replace(snapshot, nodes=nodes)


def with_pod(snapshot: Snapshot, changed: SnapshotPod) -> Snapshot:
    """The pod of that uid replaced."""
    pods = tuple(changed if pod.uid == changed.uid else pod for pod in snapshot.pods)
    return replace(snapshot, pods=pods)
