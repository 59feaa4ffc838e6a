"""The ledger: accounts by the uid of the top controller, whatever order news comes in."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.values.qos import a_life, a_life_pod, an_owner, at, controlled_by, few
from trimtab.kube.resources import ObjectMeta, OwnerReference
from trimtab.qos.ledger.ledger import JOINED, LEFT, AccountChange, Ledger
from trimtab.qos.ledger.pod_life import SchedulingGate
from trimtab.qos.ledger.pod_moments import Observation, life_of
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.tracking.stores import top_owner

REPLICA_SET = controlled_by("ReplicaSet", "web-5d")
DEPLOYMENT = controlled_by("Deployment", "web")


def seen(second: float) -> Observation:
    return Observation(at(second), at(second))


def known(*metas: ObjectMeta) -> dict[str, ObjectMeta]:
    return {meta.uid: meta for meta in metas}


def owned(uid: str, by: OwnerReference | None = None) -> ObjectMeta:
    return ObjectMeta(name=uid, namespace="default", uid=uid, owner_references=(by,) if by else ())


@pytest.mark.parametrize(
    ("reference", "objects", "kind", "name"),
    [
        pytest.param(None, {}, "Pod", "web-1", id="a bare pod is its own account"),
        pytest.param(
            REPLICA_SET,
            known(owned("uid-web-5d", DEPLOYMENT)),
            "Deployment",
            "web",
            id="a rollout must not begin a new account",
        ),
        pytest.param(REPLICA_SET, {}, "ReplicaSet", "web-5d", id="not known yet: the reference"),
        pytest.param(
            REPLICA_SET,
            known(owned("uid-web-5d")),
            "ReplicaSet",
            "web-5d",
            id="a ReplicaSet of its own",
        ),
        pytest.param(
            controlled_by("Job", "tick-1", api="batch/v1"),
            known(owned("uid-tick-1", controlled_by("CronJob", "tick"))),
            "Job",
            "tick-1",
            id="a Job is the account, not its CronJob",
        ),
        pytest.param(
            controlled_by("VirtualMachineInstance", "vm", "uid-vmi", api="kubevirt.io/v1"),
            known(owned("uid-vmi", controlled_by("VirtualMachine", "vm", api="kubevirt.io/v1"))),
            "VirtualMachine",
            "vm",
            id="a launcher belongs to its VM",
        ),
        pytest.param(
            REPLICA_SET,
            known(owned("uid-web-5d", REPLICA_SET)),
            "ReplicaSet",
            "web-5d",
            id="a circle ends",
        ),
    ],
)
def test_the_account_is_the_top_controllers(
    reference: OwnerReference | None, objects: dict[str, ObjectMeta], kind: str, name: str
) -> None:
    pod = a_life_pod(owner=reference)
    owner = top_owner(pod.metadata, lambda ref, _: objects.get(ref.uid))
    assert (owner.kind, owner.name) == (kind, name)


def test_one_name_in_two_namespaces_is_two_accounts() -> None:
    """Free text as an identity would merge them."""
    ledger = Ledger()
    ledger.observe(a_life("a"), an_owner("web", namespace="red"))
    ledger.observe(a_life("b"), an_owner("web", namespace="blue"))
    assert len(ledger.accounts) == 2


def test_parents_are_looked_up_in_the_pods_own_namespace() -> None:
    asked: list[str] = []

    def lookup(_: OwnerReference, namespace: str) -> ObjectMeta | None:
        asked.append(namespace)
        return None

    top_owner(a_life_pod(namespace="red", owner=REPLICA_SET).metadata, lookup)
    assert asked == ["red"]


def test_a_provisional_account_becomes_the_right_one_when_the_parent_is_known() -> None:
    ledger = Ledger()
    provisional, right = an_owner("web-5d", "ReplicaSet"), an_owner("web")
    ledger.observe(a_life("a", 0, 1), provisional, provisional=True)
    ledger.observe(a_life("b", 0, 1, 2), provisional, provisional=True)
    ledger.observe(a_life("a", 0, 1), right)
    (account,) = ledger.accounts.values()
    assert account.owner == right
    assert account.at(at(10)).running == 10 * SECOND
    ledger.gone("b", at(20))
    ledger.gone("a", at(20))
    assert account.at(at(100)).running == 20 * SECOND


def running(ledger: Ledger, name: str, second: float) -> float:
    return ledger.accounts[an_owner(name).uid].at(at(second)).running / SECOND


def test_a_pod_that_changes_its_controller_takes_nothing_along() -> None:
    ledger = Ledger()
    ledger.observe(a_life("a", 0, 1), an_owner("web"))
    ledger.observe(a_life("b", 0, 1), an_owner("web"))
    ledger.observe(a_life("a", 0, 1), an_owner("loose"), seen(10))
    assert (running(ledger, "web", 20), running(ledger, "loose", 20)) == (9 + 19, 10)
    ledger.observe(a_life("b", 0, 1), an_owner("web"), seen(20))
    assert (running(ledger, "web", 20), running(ledger, "loose", 20)) == (9 + 19, 10)
    assert ledger.accounts[an_owner("web").uid].history[-1].what == LEFT
    assert ledger.accounts[an_owner("loose").uid].history[-1].what == JOINED


def test_a_pod_that_comes_back_brings_nothing_along() -> None:
    ledger = Ledger()
    for second, owner in ((0, "web"), (10, "loose"), (15, "web"), (30, "other")):
        ledger.observe(a_life("a", 0, 1), an_owner(owner), seen(second))
    ledger.observe(a_life("a", 0, 1, 40), an_owner("other"), seen(40))
    ledger.gone("a", at(41))
    assert [running(ledger, name, 100) for name in ("web", "loose", "other")] == [9 + 15, 5, 10]
    for account in ledger.accounts.values():
        account.settle(at(200))
    assert [running(ledger, name, 300) for name in ("web", "loose", "other")] == [9 + 15, 5, 10]
    assert ledger.accounts[an_owner("web").uid].incarnations == 1


def test_a_pod_that_waits_goes_on_waiting_in_its_new_account() -> None:
    ledger = Ledger()
    ledger.observe(a_life("a", 0), an_owner("web"), seen(0))
    ledger.observe(a_life("a", 0), an_owner("loose"), seen(7))
    ledger.observe(a_life("a", 0, 9), an_owner("loose"), seen(9))
    old, new = (ledger.accounts[an_owner(name).uid].at(at(20)) for name in ("web", "loose"))
    assert (old.waiting, old.running) == (7 * SECOND, 0)
    assert (new.waiting, new.running) == (2 * SECOND, 11 * SECOND)


def test_a_pod_that_is_over_has_no_time_for_another_account() -> None:
    ledger = Ledger()
    ledger.observe(a_life("a", 0, 1, 5), an_owner("web"), seen(5))
    ledger.observe(a_life("a", 0, 1, 5), an_owner("loose"), seen(50))
    assert (running(ledger, "web", 90), running(ledger, "loose", 90)) == (4, 0)


def test_each_transition_is_told_once() -> None:
    ledger = Ledger()
    told: list[AccountChange] = []
    ledger.listen(told.append)
    for life in (a_life("a"), a_life("a", 0, 3), a_life("a", 0, 3), a_life("a", 0, 3, 5)):
        ledger.observe(life, an_owner())
    ledger.gone("a", at(9))
    assert [(each.what, each.at) for each in told] == [
        ("created", at(0)),
        ("bound", at(3)),
        ("ended", at(5)),
    ]
    (account,) = ledger.accounts.values()
    assert [each.what for each in account.history] == ["created", "bound", "ended"]


def test_gates_are_part_of_the_history() -> None:
    ledger = Ledger()
    gated = a_life_pod("a", created=0, scheduling_gates=(SchedulingGate(name="quota"),))
    ledger.observe(life_of(gated), an_owner(), seen(0))
    ledger.observe(life_of(a_life_pod("a", created=0)), an_owner(), seen(5))
    ledger.observe(life_of(a_life_pod("a", created=0, scheduled=6)), an_owner(), seen(6))
    (account,) = ledger.accounts.values()
    assert [(each.what, each.at) for each in account.history] == [
        ("created", at(0)),
        ("gated", at(0)),
        ("ungated", at(5)),
        ("bound", at(6)),
    ]


def test_history_is_bounded() -> None:
    ledger = Ledger()
    for number in range(100):
        ledger.observe(a_life(f"p{number}", number, number, number), an_owner())
    (account,) = ledger.accounts.values()
    assert len(account.history) == 64


def test_a_binding_of_an_unknown_pod_changes_nothing() -> None:
    assert not Ledger().measured("nobody", at(0), at(1))


STORY = [
    ("a", a_life_pod("a", created=0)),
    ("a", a_life_pod("a", created=0, scheduled=5)),
    ("a", a_life_pod("a", created=0, scheduled=5, deleted=40, grace=30)),
    ("b", a_life_pod("b", created=41)),
    ("b", a_life_pod("b", created=41, scheduled=50)),
]


@few
@given(st.permutations(range(len(STORY))), st.lists(st.integers(0, len(STORY) - 1), max_size=5))
def test_order_repetition_and_loss_of_news_do_not_matter(
    order: Sequence[int], again: Sequence[int]
) -> None:
    """As long as the last word about each pod is heard once, sooner or later."""
    ledger = Ledger()
    for index in [*order[: len(order) // 2], *again, 2, 4]:
        ledger.observe(life_of(STORY[index][1]), an_owner())
    reading = ledger.accounts[an_owner().uid].at(at(100))
    assert (reading.running, reading.waiting) == (85 * SECOND, 14 * SECOND)
