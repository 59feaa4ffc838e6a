"""What a checkpoint claims: that everything up to a version is written down somewhere."""

from collections.abc import Callable

import msgspec
import pytest

from builders.values.qos import World, a_life_pod, controlled_by
from trimtab.kube.errors import ApiError, Status
from trimtab.kube.resources import Free, Key
from trimtab.kube.runtime.controller import After
from trimtab.qos.service.checkpoint import Checkpoints
from trimtab.qos.wire import QosAccount


class Api:
    """Remembers what is written; `meanwhile` happens while it is."""

    manager = "qos"

    def __init__(self) -> None:
        self.claimed: list[str] = []
        self.owned_again: list[str] = []
        self.broken = False
        self.meanwhile: Callable[[], None] = lambda: None

    async def request(self, verb: str, path: str, params: object, body: bytes, _: str) -> bytes:
        if self.broken:
            raise ApiError("PATCH", Status(500))
        if path.endswith("/status"):
            self.meanwhile()
            stored = msgspec.json.decode(body, type=QosAccount)
            self.claimed.append(stored.status.ledger.complete_version)
        return body

    async def patch(self, kind: object, name: str, body: Free, namespace: str) -> None:
        (owner,) = body["metadata"]["ownerReferences"]
        self.owned_again.append(f"{namespace}/{name} by {owner['uid']}")


class Writing:
    """A world whose accounts are written down one by one."""

    def __init__(self) -> None:
        self.world = World()
        self.api = Api()
        self.checkpoints = Checkpoints(
            self.api,  # type: ignore[arg-type]
            self.world.tracker,
            self.world.accounts,
        )
        self.world.tracker.ledger.listen(lambda c: self.checkpoints.changed(c.account.owner.uid))

    def put(self, name: str, version: int) -> None:
        """A pod, its own account, comes with this version."""
        self.world.put(a_life_pod(name, version=version))
        self.world.stores.pods._version = str(version)

    async def write(self, name: str) -> str:
        """The version up to which the checkpoint says that all is written."""
        await self.checkpoints.reconcile(Key("", f"uid-{name}"))
        return self.api.claimed[-1]


async def test_a_checkpoint_claims_no_more_than_what_others_have_written() -> None:
    writing = Writing()
    writing.put("a", 10)
    writing.put("b", 20)
    writing.put("c", 30)
    assert await writing.write("c") == "0"  # nothing was written before a came
    assert await writing.write("a") == "10"  # b came after it
    assert await writing.write("b") == "30"


async def test_what_a_rebuild_found_is_claimed_only_when_it_is_written() -> None:
    writing = Writing()
    writing.world.tracker.replaying_from = 0
    writing.put("a", 10)
    writing.put("b", 20)
    writing.world.tracker.replaying_from = None
    assert await writing.write("a") == "0"
    assert await writing.write("a") == "0"
    assert await writing.write("b") == "20"


async def test_an_account_whose_replica_set_is_not_known_yet_is_written_later() -> None:
    writing, replica_set = Writing(), controlled_by("ReplicaSet", "web-5d")
    writing.world.put(a_life_pod("web-1", owner=replica_set))
    outcome = await writing.checkpoints.reconcile(Key("", replica_set.uid))
    assert (outcome, writing.api.claimed) == (After(1.0), [])
    writing.world.owner("ReplicaSet", "web-5d")
    await writing.checkpoints.reconcile(Key("", replica_set.uid))
    assert len(writing.api.claimed) == 1


async def test_a_change_during_the_writing_is_not_claimed() -> None:
    writing = Writing()
    writing.put("a", 10)

    def bound() -> None:
        writing.world.put(a_life_pod("a", scheduled=2, version=15))
        writing.world.stores.pods._version = "15"

    writing.api.meanwhile = bound
    assert await writing.write("a") == "10"
    writing.put("b", 20)
    assert await writing.write("b") == "10"


async def test_a_write_that_failed_claims_nothing() -> None:
    writing = Writing()
    writing.put("a", 10)
    writing.put("b", 20)
    writing.api.broken = True
    with pytest.raises(ApiError):
        await writing.write("a")
    writing.api.broken = False
    assert await writing.write("b") == "0"


async def test_an_account_that_is_dropped_holds_nobody_back() -> None:
    writing = Writing()
    writing.put("a", 10)
    writing.put("b", 20)
    writing.world.tracker.ledger.drop("uid-a")
    assert await writing.write("b") == "20"


async def test_the_object_of_an_owner_that_is_gone_is_left_to_the_garbage_collector() -> None:
    """A deletion with --cascade=orphan took the reference to the owner away."""
    writing = Writing()
    world = writing.world
    world.owner("StatefulSet", "web")
    pod = a_life_pod("web-0", owner=controlled_by("StatefulSet", "web"))
    world.put(pod)
    await writing.checkpoints.reconcile(Key("", "uid-web"))
    world.remove(pod)
    await writing.checkpoints.reconcile(Key("", "uid-web"))
    assert writing.api.owned_again == [], "its owner is there"
    next(each for each in world.stores.owners if each.kind.kind == "StatefulSet").store.discard(
        Key("default", "web")
    )
    assert "uid-web" not in world.tracker.ledger.accounts
    await writing.checkpoints.reconcile(Key("", "uid-web"))
    await writing.checkpoints.reconcile(Key("", "uid-web"))
    assert writing.api.owned_again == ["default/web-uid-web by uid-web"]


async def test_the_object_of_an_owner_that_nobody_watches_stays() -> None:
    """It may have pods again, and then its time counts."""
    writing, rollout = Writing(), controlled_by("Rollout", "web", api="argoproj.io/v1")
    pod = a_life_pod("web-0", owner=rollout)
    writing.world.put(pod)
    await writing.checkpoints.reconcile(Key("", "uid-web"))
    writing.world.remove(pod)
    writing.world.second = 4000
    await writing.checkpoints.reconcile(Key("", "uid-web"))
    assert "uid-web" not in writing.world.tracker.ledger.accounts
    assert writing.api.owned_again == []
