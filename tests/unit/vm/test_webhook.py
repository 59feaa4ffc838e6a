"""The webhook's answers, with a cluster whose faults are scripted."""

import msgspec
import pytest

from builders.values.virt import a_launcher, a_vm
from trimtab.kube.errors import Invalid, Status, Unavailable
from trimtab.kube.resources import Key, Pod
from trimtab.kube.virtual_machines import VirtualMachine
from trimtab.vm.decide.eviction import TRIGGERED, Allow, Deny, MarkForEvacuation
from trimtab.vm.webhook import DeleteOptions, EvictionObject, EvictionRequest, answer, judge

POD = "virt-launcher-web-aaaaa"


class ScriptedCluster:
    """What the cache shows, what a fresh look shows, and how marking goes."""

    def __init__(
        self,
        cached: tuple[Pod | None, VirtualMachine | None],
        fresh: tuple[Pod | None, VirtualMachine | None] = (None, None),
        trouble: Exception | None = None,
    ) -> None:
        self.cached, self.fresh, self.trouble = cached, fresh, trouble
        self.marks: list[MarkForEvacuation] = []
        self.looks = 0

    def pod(self, key: Key) -> Pod | None:
        return self.cached[0]

    def vm(self, key: Key) -> VirtualMachine | None:
        return self.cached[1]

    async def fresh_pod(self, key: Key) -> Pod | None:
        self.looks += 1
        return self.fresh[0]

    async def fresh_vm(self, key: Key) -> VirtualMachine | None:
        self.looks += 1
        return self.fresh[1]

    async def mark(self, mark: MarkForEvacuation) -> None:
        if self.trouble:
            raise self.trouble
        self.marks.append(mark)


def evicting(pod: str = POD, **options: object) -> EvictionRequest:
    fields = {"uid": "review", "name": pod, "namespace": "default"} | options
    return msgspec.convert(fields, EvictionRequest)


def invalid() -> Invalid:
    return Invalid("patch", Status(422, "Invalid", "the test operation failed"))


async def test_the_mark_is_written_before_it_is_claimed() -> None:
    cluster = ScriptedCluster((a_launcher(), a_vm()))
    verdict = await judge(evicting(), cluster)
    assert cluster.marks == [verdict]
    assert cluster.looks == 0


async def test_a_claim_that_it_is_under_way_is_proven_by_the_same_write() -> None:
    cluster = ScriptedCluster((a_launcher(), a_vm(mark="n1")))
    verdict = await judge(evicting(), cluster)
    assert isinstance(verdict, MarkForEvacuation)
    assert len(cluster.marks) == 1


@pytest.mark.parametrize(
    "rehearsal",
    [
        pytest.param({"dryRun": True}, id="said by the request"),
        pytest.param({"object": {"deleteOptions": {"dryRun": ["All"]}}}, id="said by the options"),
    ],
)
async def test_a_dry_run_is_answered_the_same_and_marks_nothing(
    rehearsal: dict[str, object],
) -> None:
    cluster = ScriptedCluster((a_launcher(), a_vm()))
    assert isinstance(await judge(evicting(POD, **rehearsal), cluster), MarkForEvacuation)
    assert cluster.marks == []


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(a_vm(pod="virt-launcher-web-bbbbb", node="n2"), Deny, id="it has just moved"),
        pytest.param(a_vm(mark="n1"), MarkForEvacuation, id="somebody else has marked it"),
        pytest.param(a_vm(), Deny, id="it is changing right now"),
        pytest.param(None, Deny, id="it is gone"),
    ],
)
async def test_a_refused_mark_is_answered_from_what_is_read_then(
    now: VirtualMachine | None, expected: type
) -> None:
    cluster = ScriptedCluster((a_launcher(), a_vm()), (None, now), invalid())
    verdict = await judge(evicting(), cluster)
    assert isinstance(verdict, expected)
    assert cluster.marks == []
    if isinstance(verdict, Deny):
        assert TRIGGERED not in verdict.message


async def test_when_the_mark_cannot_be_written_nothing_is_claimed() -> None:
    trouble = Unavailable("patch", Status(503, "", "etcd is away"))
    cluster = ScriptedCluster((a_launcher(), a_vm()), trouble=trouble)
    verdict = await judge(evicting(), cluster)
    assert isinstance(verdict, Deny)
    assert "could not be marked" in verdict.message
    assert TRIGGERED not in verdict.message


async def test_a_pod_that_the_cache_has_not_seen_yet_is_looked_up() -> None:
    cluster = ScriptedCluster((None, a_vm()), (a_launcher(), None))
    assert isinstance(await judge(evicting(), cluster), MarkForEvacuation)


async def test_a_pod_that_does_not_exist_is_left_to_the_api_server() -> None:
    cluster = ScriptedCluster((None, None))
    assert isinstance(await judge(evicting(), cluster), Allow)


def test_a_denial_is_429_and_never_asks_to_retry() -> None:
    review = answer(evicting(), MarkForEvacuation(Key("default", "web"), "p", "n1"))
    assert review["response"] == {
        "uid": "review",
        "allowed": False,
        "status": {
            "code": 429,
            "reason": "TooManyRequests",
            "message": 'Eviction triggered evacuation of VM "default/web"',
        },
    }


def test_a_permission_says_nothing_else() -> None:
    assert answer(evicting(), Allow("why"))["response"] == {"uid": "review", "allowed": True}


def test_options_without_preconditions_mean_any_pod() -> None:
    request = evicting()
    request.object = EvictionObject(DeleteOptions())
    assert request.wanted_uid == ""
