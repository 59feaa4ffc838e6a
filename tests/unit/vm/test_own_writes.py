"""A VM is not looked at before the stores show what was written about it."""

from trimtab.kube.resources import Key, ObjectMeta, Pod
from trimtab.vm.own_writes import OwnWrites

VM, POD = Key("default", "web"), Key("default", "p")


def a_pod(version: int) -> Pod:
    meta = ObjectMeta(name=POD.name, namespace=POD.namespace, resource_version=str(version))
    return Pod(metadata=meta)


class Watched:
    """A store of pods that shows what it is told to, and a clock."""

    def __init__(self) -> None:
        self.stored: Pod | None = None
        self.time = 0.0
        self.own = OwnWrites({Pod: lambda _: self.stored}, lambda: self.time)


def test_a_change_is_waited_for_until_that_version_or_a_later_one_is_seen() -> None:
    watched = Watched()
    watched.stored = a_pod(9)
    watched.own.note(VM, a_pod(10))
    watched.time = 1.5
    assert watched.own.unseen_s(VM) == 1.5
    for version in (10, 11, 100):  # as numbers: "100" is not before "11"
        watched.own.note(VM, a_pod(10))
        watched.stored = a_pod(version)
        assert watched.own.unseen_s(VM) is None


def test_an_object_that_was_there_and_is_gone_has_been_seen() -> None:
    watched = Watched()
    watched.own.note(VM, a_pod(10))
    assert watched.own.unseen_s(VM) is None


def test_an_object_that_was_created_must_appear() -> None:
    watched = Watched()
    watched.own.note(VM, a_pod(10), created=True)
    assert watched.own.unseen_s(VM) == 0
    watched.stored = a_pod(10)
    assert watched.own.unseen_s(VM) is None


def test_others_are_not_waited_for() -> None:
    watched = Watched()
    watched.own.note(VM, a_pod(10), created=True)
    assert watched.own.unseen_s(Key("default", "other")) is None
    watched.own.forget(VM)
    assert watched.own.unseen_s(VM) is None
