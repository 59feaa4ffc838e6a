"""The tracker: changes in the stores become accounts; owners, promises and VMs come and go."""

from typing import Any

import pytest

from builders.values.qos import World, a_life_pod, at, controlled_by
from trimtab.kube.resources import Namespace, ObjectMeta
from trimtab.qos.ledger.ledger import LOST
from trimtab.qos.ledger.pod_life import LifePod
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.promise import ANNOTATION as SLO
from trimtab.qos.settings import QosSettings
from trimtab.qos.tracking.stores import AnyVm, OurVm, VmRunSpec, VmRunStatus

REPLICA_SET = controlled_by("ReplicaSet", "web-5d")
DEPLOYMENT = controlled_by("Deployment", "web")
VM = controlled_by("VirtualMachine", "db", api="trimtab.dev/v1alpha1")


def a_deployment(world: World, slo: str = "") -> None:
    world.owner("Deployment", "web", annotations={SLO: slo} if slo else {})
    world.owner("ReplicaSet", "web-5d", owner_references=(DEPLOYMENT,))


async def test_a_rollout_goes_on_with_the_same_account() -> None:
    world = World()
    a_deployment(world)
    world.put(a_life_pod("web-1", owner=REPLICA_SET, created=0, scheduled=2))
    world.owner("ReplicaSet", "web-77", owner_references=(DEPLOYMENT,))
    later = controlled_by("ReplicaSet", "web-77")
    world.put(a_life_pod("web-2", owner=later, created=10, scheduled=11))
    world.second = 20
    assert world.sums("uid-web") == (18 + 9, 2 + 1)


async def test_pods_that_were_seen_before_their_owner_move_to_its_account() -> None:
    world = World()
    world.put(a_life_pod("web-1", owner=REPLICA_SET, created=0, scheduled=2))
    assert "uid-web-5d" in world.tracker.ledger.accounts
    a_deployment(world)
    assert list(world.tracker.ledger.accounts) == ["uid-web"]
    world.second = 10
    assert world.sums("uid-web") == (8, 2)


async def test_an_account_outlives_its_pods_but_not_its_owner() -> None:
    world = World()
    a_deployment(world)
    pod = a_life_pod("web-1", owner=REPLICA_SET, created=0, scheduled=2, deleted=9)
    world.put(pod)
    world.second = 9
    world.remove(pod)
    world.second = 100
    assert world.sums("uid-web") == (7, 2)
    for reflector in world.stores.owners:
        reflector.store.swap(())
    assert world.tracker.ledger.accounts == {}


async def test_a_pod_stays_in_its_account_when_its_replica_set_is_gone() -> None:
    world = World()
    a_deployment(world)
    world.put(a_life_pod("web-1", owner=REPLICA_SET, created=0, scheduled=2))
    for reflector in world.stores.owners:
        if reflector.kind.kind == "ReplicaSet":
            reflector.store.swap(())
    world.put(a_life_pod("web-1", owner=REPLICA_SET, created=0, scheduled=2, deleted=9, version=2))
    world.second = 20
    assert list(world.tracker.ledger.accounts) == ["uid-web"]
    assert world.sums("uid-web") == (7, 2)


@pytest.mark.parametrize(
    ("ready", "last", "sums", "gap"),
    [
        pytest.param(True, {}, (58, 2), 40, id="it counts until it was last seen"),
        pytest.param(False, {}, (58, 2), 40, id="the same while the ledger is rebuilt"),
        pytest.param(True, {"deleted": 50, "grace": 30}, (48, 2), 0, id="it had told its end"),
    ],
)
async def test_who_is_missing_from_a_new_list_after_a_gap_is_lost_from_sight(
    ready: bool, last: dict[str, Any], sums: tuple[int, int], gap: int
) -> None:
    world = World()
    a_deployment(world)
    world.put(a_life_pod("web-1", owner=REPLICA_SET, created=0, scheduled=2, **last))
    world.tracker.ready = ready
    world.second = 100
    world.stores.pods.gap_s = 40.0
    world.stores.pods.store.swap(())
    world.stores.pods.gap_s = 0.0
    world.tracker.open()
    account = world.account("uid-web")
    assert (world.sums("uid-web"), account.gap) == (sums, gap * SECOND)
    assert (account.history[-1].what == LOST) == bool(gap)


def released(name: str, **told: Any) -> LifePod:
    """A pod whose labels no selector matches any more: its controller let it go."""
    return a_life_pod(name, created=0, scheduled=2, version=2, **told)


async def test_a_released_pod_takes_nothing_along_and_moves_nothing_back() -> None:
    world = World()
    a_deployment(world)
    for name in ("web-1", "web-2", "web-3"):
        world.put(a_life_pod(name, owner=REPLICA_SET, created=0, scheduled=2))
    world.second = 100
    world.put(released("web-1"))
    world.put(a_life_pod("web-4", owner=REPLICA_SET, created=100, scheduled=101))
    world.second = 160
    assert world.sums("uid-web") == (98 + 2 * 158 + 59, 2 * 3 + 1)
    assert world.sums("uid-web-1") == (60, 0)
    world.put(a_life_pod("web-2", owner=REPLICA_SET, created=0, scheduled=2, version=3))
    assert world.sums("uid-web") == (98 + 2 * 158 + 59, 2 * 3 + 1)
    assert set(world.tracker.members["uid-web"]) == {"uid-web-2", "uid-web-3", "uid-web-4"}
    assert set(world.tracker.members["uid-web-1"]) == {"uid-web-1"}
    world.remove(released("web-1"))
    assert "uid-web-1" not in world.tracker.ledger.accounts
    assert world.account("uid-web").left == {}


async def test_pods_that_outlive_their_controller_begin_accounts_of_their_own() -> None:
    """`kubectl delete --cascade=orphan`, and a new controller of that name adopts them."""
    world = World()
    world.owner("StatefulSet", "db")
    owner = controlled_by("StatefulSet", "db")
    world.put(a_life_pod("db-0", owner=owner, created=0, scheduled=2))
    world.second = 50
    world.put(released("db-0"))
    for reflector in world.stores.owners:
        reflector.store.swap(())
    assert list(world.tracker.ledger.accounts) == ["uid-db-0"]
    world.second = 80
    world.owner("StatefulSet", "db", uid="uid-db-again")
    adopted = controlled_by("StatefulSet", "db", "uid-db-again")
    world.put(a_life_pod("db-0", owner=adopted, created=0, scheduled=2, version=3))
    world.second = 100
    assert world.sums("uid-db-0") == (30, 0)
    assert world.sums("uid-db-again") == (20, 0)


async def test_a_replica_set_that_changes_its_deployment_leaves_the_time_where_it_was() -> None:
    world = World()
    a_deployment(world)
    world.put(a_life_pod("web-1", owner=REPLICA_SET, created=0, scheduled=2))
    world.second = 50
    world.owner("ReplicaSet", "web-5d", owner_references=())  # its Deployment was orphaned
    world.second = 70
    assert world.sums("uid-web") == (48, 2)
    assert world.sums("uid-web-5d") == (20, 0)
    world.owner("ReplicaSet", "web-5d", owner_references=(controlled_by("Deployment", "new"),))
    world.second = 100
    assert world.sums("uid-web-5d") == (20, 0)
    assert world.sums("uid-new") == (30, 0)


async def test_a_name_that_is_used_again_is_another_pod() -> None:
    world = World()
    world.owner("StatefulSet", "db")
    owner = controlled_by("StatefulSet", "db")
    world.put(a_life_pod("db-0", uid="first", owner=owner, created=0, scheduled=2))
    world.second = 50
    world.put(a_life_pod("db-0", uid="second", owner=owner, created=50, scheduled=55))
    world.second = 100
    assert world.sums("uid-db") == (48 + 45, 2 + 5)


async def test_a_pod_that_is_first_seen_on_its_way_out_has_had_its_time() -> None:
    world = World()
    world.second = 100
    world.put(a_life_pod("old", created=0, scheduled=2, deleted=60, grace=300))
    assert world.sums("uid-old") == (58, 2)


async def test_a_pod_that_failed_after_a_gap_counts_until_it_was_last_seen() -> None:
    world = World()
    world.put(a_life_pod("solo", created=0, scheduled=2))
    world.second = 100
    world.stores.pods.gap_s = 40.0
    world.stores.pods.store.swap(
        [a_life_pod("solo", created=0, scheduled=2, phase="Failed", version=2)]
    )
    world.stores.pods.gap_s = 0.0
    assert (world.sums("uid-solo"), world.account("uid-solo").gap) == ((58, 2), 40 * SECOND)


async def test_a_bare_pods_account_ends_with_it() -> None:
    world = World()
    pod = a_life_pod("alone", created=0)
    world.put(pod)
    assert "uid-alone" in world.tracker.ledger.accounts
    world.remove(pod)
    assert world.tracker.ledger.accounts == {}
    assert not any(world.tracker.members.values())


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_life_pod(namespace="kube-system"), id="what runs the cluster"),
        pytest.param(a_life_pod(namespace="trimtab-system"), id="what keeps the accounts"),
        pytest.param(
            a_life_pod(annotations={"kubernetes.io/config.mirror": "x"}), id="a static pod"
        ),
    ],
)
async def test_some_pods_have_no_account(pod: LifePod) -> None:
    world = World()
    world.put(pod)
    assert world.tracker.ledger.accounts == {}


async def test_the_newest_pods_declaration_counts_for_all() -> None:
    world = World()
    a_deployment(world, "0.9")
    world.put(a_life_pod("web-1", owner=REPLICA_SET, created=0, annotations={SLO: "0.5"}))
    world.put(a_life_pod("web-2", owner=REPLICA_SET, created=5, annotations={SLO: "0.7"}))
    assert world.tracker.promise(world.account("uid-web")).slo == 0.7


async def test_a_promise_follows_what_is_declared_above() -> None:
    world = World()
    a_deployment(world)
    world.put(a_life_pod("web-1", owner=REPLICA_SET))
    account = world.account("uid-web")
    assert world.tracker.promise(account).source == "default"
    spaced = ObjectMeta(name="default", uid="n", annotations={SLO: "0.6"})
    world.stores.namespaces.store.put(Namespace(metadata=spaced))
    assert world.tracker.promise(account).slo == 0.6
    a_deployment(world, "99%")
    assert world.tracker.promise(account).slo == 0.99


async def test_an_unreadable_declaration_is_kept_until_it_is_mended() -> None:
    world = World()
    told: list[list[str]] = []
    for version in (1, 2):
        world.put(a_life_pod("web-1", annotations={SLO: "lots"}, version=version))
        world.tracker.promise(world.account("uid-web-1"))
        told.append(list(world.tracker.complaints.values()))
    assert told == [[f'{SLO}: "lots" on the pod is not an SLO and is ignored']] * 2
    world.put(a_life_pod("web-1", annotations={SLO: "0.5"}, version=3))
    world.tracker.promise(world.account("uid-web-1"))
    assert not world.tracker.complaints, "it was mended"


def a_vm(*, running: bool = True, created: float = 0) -> OurVm:
    pod = a_life_pod("db", created=created)
    return OurVm(metadata=pod.metadata, spec=VmRunSpec(running=running))


async def test_a_new_vm_waits_from_its_creation_and_stops_when_its_user_stops_it() -> None:
    world = World()
    (ours, _) = world.stores.vms
    world.second = 1
    ours.store.put(a_vm())
    world.second = 5
    assert world.sums("uid-db") == (0, 5)
    launcher = a_life_pod("virt-launcher-db-x", owner=VM, created=2, scheduled=6)
    world.put(launcher)
    world.second = 10
    assert world.sums("uid-db") == (4, 6)
    ours.store.put(a_vm(running=False))
    world.remove(launcher)
    world.second = 100
    assert world.sums("uid-db") == (4, 6)


async def test_a_vm_stopped_while_nobody_watched_did_not_wait() -> None:
    world = World()
    (ours, _) = world.stores.vms
    world.put(a_life_pod("l", owner=VM, created=0, scheduled=6, deleted=50))
    world.second = 500
    ours.store.put(a_vm(running=False))
    assert world.sums("uid-db") == (44, 6)
    assert world.account("uid-db").at(at(500)).pace.waiting == 0


async def test_an_old_vms_past_is_not_invented() -> None:
    world = World()
    (ours, _) = world.stores.vms
    world.second = 86_400
    ours.store.put(a_vm(created=0))
    assert world.tracker.ledger.accounts == {}
    world.put(a_life_pod("virt-launcher-db-x", owner=VM, created=86_300, scheduled=86_310))
    assert world.sums("uid-db") == (90, 10)


@pytest.mark.parametrize(
    ("spec", "status", "wanted"),
    [
        (VmRunSpec(running=True), "", True),
        (VmRunSpec(running=False), "", False),
        (VmRunSpec(run_strategy="Always"), "Running", True),
        (VmRunSpec(run_strategy="Halted"), "Running", False),
        pytest.param(VmRunSpec(run_strategy="Manual"), "Stopped", False, id="stopped by hand"),
        pytest.param(VmRunSpec(run_strategy="Manual"), "Running", True, id="started by hand"),
    ],
)
def test_kubevirts_ways_to_say_that_a_vm_is_wanted(
    spec: VmRunSpec, status: str, wanted: bool
) -> None:
    assert AnyVm(spec=spec, status=VmRunStatus(printable_status=status)).wanted == wanted


async def test_what_happens_before_the_ledger_is_rebuilt_is_not_lost() -> None:
    world = World()
    world.tracker.ready = False
    pod = a_life_pod("web-1", created=0, scheduled=2)
    world.put(pod)
    world.second = 7
    world.remove(pod)
    assert world.tracker.ledger.accounts == {}
    world.put(a_life_pod("web-2", created=7))
    world.tracker.open()
    assert list(world.tracker.ledger.accounts) == ["uid-web-2"]


async def test_in_legacy_mode_rows_go_by_the_bare_annotation() -> None:
    world = World(QosSettings(legacy=True))
    notes = {"controller": "50_slo_1", "slo": "0.50"}
    world.put(a_life_pod("a", created=0, scheduled=0, annotations=notes))
    world.put(a_life_pod("b", created=0, scheduled=0))
    world.put(a_life_pod("c", created=0, scheduled=0))
    blank, named = world.accounts.on_the_page(at(100))
    assert (blank.name, blank.slo, blank.reading.running) == ("", 0.80, 200 * 10**9)
    assert (named.name, named.slo, named.reading.running) == ("50_slo_1", 0.50, 100 * 10**9)


async def test_without_it_everybody_has_a_row_and_equal_names_their_namespace() -> None:
    world = World()
    for namespace in ("red", "blue"):
        world.put(a_life_pod("same", namespace=namespace, uid=f"uid-{namespace}"))
    world.put(a_life_pod("other"))
    names = [view.name for view in world.accounts.on_the_page(at(1))]
    assert names == ["blue/same", "other", "red/same"]
