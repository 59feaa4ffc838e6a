"""The ledger against an account that is kept from watch events alone, over random histories.

Pods are created, gated, bound, released, adopted, deleted and failed, nodes are deleted, the
service is paused and killed. Each transition may cost a second, a gap must be told, and no time
may turn up in another account.
"""

from datetime import UTC, datetime
from typing import Any

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders.examples import examples
from builders.values.qos import START, World, a_life_pod, at
from builders.virtualtime import run
from builders.witnesses.independent import Independent
from builders.worlds.qos_restart import Happening, History, rebuilt
from trimtab.kube.resources import Key
from trimtab.qos.ledger.pod_life import LifePod
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.service.checkpoint import Checkpoints
from trimtab.qos.tracking.stores import OurVm, VmRunSpec
from trimtab.qos.wire import QosAccount, QosAccountSpec

GRACE = 30
OWNERS = {
    "web": ("StatefulSet", "apps/v1"),
    "db": ("StatefulSet", "apps/v1"),
    "vm": ("VirtualMachine", "trimtab.dev/v1alpha1"),
}
Act = tuple[str, int, int]
"""What is done, to which pod or whom, and how many tenths of a second pass first."""


def stamp(second: float) -> str:
    """A moment as the API server keeps it: without its fraction."""
    return datetime.fromtimestamp(START + int(second), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Cluster:
    """Pods as an API server keeps them, and its events."""

    def __init__(self) -> None:
        self.now = 0.0
        self.version = 1
        self.pods: dict[str, dict[str, Any]] = {}
        self.events: list[Happening] = []
        self.account = Independent()
        self.account.vm(0, "uid-vm")
        self._number = 0

    def create(self, owner: str, *, gated: bool = False) -> Happening:
        self._number += 1
        name = f"p{self._number}"
        meta = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
        meta["creationTimestamp"] = stamp(self.now)
        spec: dict[str, Any] = {"schedulerName": "default-scheduler"}
        if gated:
            spec["schedulingGates"] = [{"name": "quota"}]
        self.pods[name] = {"metadata": meta, "spec": spec, "status": {"conditions": []}}
        self.own(name, owner)
        return self.write(name, event="ADDED")

    def own(self, name: str, owner: str) -> None:
        meta = self.pods[name]["metadata"]
        meta.pop("ownerReferences", None)
        if owner:
            kind, api = OWNERS[owner]
            meta["ownerReferences"] = [
                {
                    "apiVersion": api,
                    "kind": kind,
                    "name": owner,
                    "uid": f"uid-{owner}",
                    "controller": True,
                }
            ]

    def write(self, name: str, subresource: str = "", event: str = "MODIFIED") -> Happening:
        """The pod was changed by somebody; everybody who watches hears of it."""
        self.version += 1
        pod = self.pods[name]
        pod["metadata"]["resourceVersion"] = str(self.version)
        if event != "DELETED":
            entries = [
                each
                for each in pod["metadata"].get("managedFields", ())
                if each["subresource"] != subresource
            ]
            entries.append({"subresource": subresource, "time": stamp(self.now)})
            pod["metadata"]["managedFields"] = entries
        self.account.see(self.now, event, pod)
        if event == "DELETED":
            del self.pods[name]
        told = msgspec.convert(pod, LifePod)
        self.events.append(Happening(self.now, self.version, event, told))
        return self.events[-1]

    def condition(self, name: str, kind: str, status: str) -> None:
        conditions = self.pods[name]["status"]["conditions"]
        conditions[:] = [each for each in conditions if each["type"] != kind]
        conditions.append({"type": kind, "status": status, "lastTransitionTime": stamp(self.now)})

    def bind(self, name: str) -> Happening | None:
        pod = self.pods[name]
        if pod["spec"].get("nodeName") or pod["spec"].get("schedulingGates") or over(pod):
            return None
        pod["spec"]["nodeName"] = "n1"
        self.condition(name, "PodScheduled", "True")
        return self.write(name, "binding")

    def ungate(self, name: str) -> Happening | None:
        if not self.pods[name]["spec"].pop("schedulingGates", None):
            return None
        return self.write(name)

    def give(self, name: str, owner: str) -> Happening | None:
        """Another owner, or none; controllers look at living pods only."""
        if over(self.pods[name]):
            return None
        self.own(name, owner)
        return self.write(name)

    def delete(self, name: str) -> Happening | None:
        meta = self.pods[name]["metadata"]
        if "deletionTimestamp" in meta:
            return self.write(name, event="DELETED")
        meta["deletionTimestamp"] = stamp(self.now + GRACE)
        meta["deletionGracePeriodSeconds"] = GRACE
        return self.write(name)

    def fail(self, name: str) -> Happening | None:
        pod = self.pods[name]
        if over(pod) or not pod["spec"].get("nodeName"):
            return None
        pod["status"]["phase"] = "Failed"
        return self.write(name, "status")


def over(pod: dict[str, Any]) -> bool:
    return "deletionTimestamp" in pod["metadata"] or "phase" in pod["status"]


class Stored:
    """The API server's QosAccounts."""

    manager = "qos"

    def __init__(self) -> None:
        self.specs: dict[str, QosAccountSpec] = {}
        self.accounts: dict[str, QosAccount] = {}

    def read(self) -> list[Any]:
        """As they come over the wire: nothing of them is shared."""
        return [
            msgspec.json.decode(msgspec.json.encode(each), type=QosAccount)
            for each in self.accounts.values()
        ]

    async def request(self, verb: str, path: str, params: object, body: bytes, _: str) -> bytes:
        told = msgspec.json.decode(body, type=QosAccount)
        name = told.metadata.name
        if path.endswith("/status"):
            self.accounts[name] = msgspec.structs.replace(told, spec=self.specs[name])
        else:
            self.specs[name] = told.spec
        return body

    async def patch(self, resource: object, name: str, body: object, namespace: str) -> None:
        """The reference to an owner that is gone: the garbage collector removes the object."""
        self.accounts.pop(name, None)


class Service:
    """The ledger, fed as the service feeds it, and what may happen to its process."""

    def __init__(self, cluster: Cluster, *, remembered: bool) -> None:
        self.cluster = cluster
        self.remembered = remembered
        """Whether the API server's watch history reaches back far enough."""
        self.stored = Stored()
        self.unheard: list[Happening] | None = None
        """What a paused process will hear when it goes on."""
        self.down = False
        self._start([])
        self.world.tracker.open()
        self.checkpoints.know(())
        self.look()
        run(self.checkpoints.reconcile(Key("", "uid-vm")))  # the service does so at once

    def _start(self, pods: list[LifePod]) -> None:
        self.world = World()
        self.world.tracker.ready = False
        for name, (kind, _) in OWNERS.items():
            if kind != "VirtualMachine":
                self.world.owner(kind, name)
        self.world.put(*pods)
        self.world.tracker._aside.clear()
        self.world.stores.pods._version = str(self.cluster.version)
        vm = a_life_pod("vm").metadata
        self.world.stores.vms[0].store.put(OurVm(metadata=vm, spec=VmRunSpec(running=True)))
        self.checkpoints = Checkpoints(
            self.stored,  # type: ignore[arg-type]
            self.world.tracker,
            self.world.accounts,
        )
        self.world.tracker.ledger.listen(lambda c: self.checkpoints.changed(c.account.owner.uid))

    def hear(self, told: Happening) -> None:
        if self.down:
            return
        if self.unheard is not None:
            self.unheard.append(told)
            return
        self.look()
        if told.type == "DELETED":
            self.world.stores.pods.store.discard(told.pod.metadata.key)
        else:
            self.world.put(told.pod)
        self.world.stores.pods._version = str(told.version)
        if not self.remembered:  # then nothing but the checkpoints is left: they are written soon
            for uid in list(self.world.tracker.ledger.accounts):
                run(self.checkpoints.reconcile(Key("", uid)))

    def look(self) -> None:
        """Time passes for a process that is there."""
        if not self.down and self.unheard is None:
            self.world.second = self.cluster.now
            self.world.tracker.pauses.look(self.world.now())

    def pause(self) -> None:
        if not self.down and self.unheard is None:
            self.unheard = []

    def go_on(self) -> None:
        unheard, self.unheard = self.unheard or [], None
        for told in unheard:
            self.hear(told)

    def kill(self) -> None:
        self.down, self.unheard = True, None

    def restart(self) -> None:
        if not self.down:
            return
        self.down = False
        there = {each.pod.metadata.uid: each.pod for each in self.cluster.events}
        names = {f"uid-{name}" for name in self.cluster.pods}
        self._start([pod for uid, pod in there.items() if uid in names])
        self.world.second = self.cluster.now
        alive = names | {f"uid-{name}" for name in OWNERS}
        accounts = [each for each in self.stored.read() if each.spec.owner.uid in alive]
        history = History(
            accounts,
            self.cluster.events,
            not self.remembered,
            newest=self.cluster.version,
            slow_s=0.0,
        )
        rebuilt(self.world, history)
        self.checkpoints.know(each.spec.owner for each in accounts)

    def save(self, pick: int) -> None:
        """Write one account down, as the service does in its own time."""
        uids = sorted(self.world.tracker.ledger.accounts)
        if uids and not self.down and self.unheard is None:
            self.look()
            run(self.checkpoints.reconcile(Key("", uids[pick % len(uids)])))


def play(acts: list[Act], *, remembered: bool = True) -> tuple[Cluster, Service]:
    cluster = Cluster()
    service = Service(cluster, remembered=remembered)
    moved: list[str] = []
    for what, pick, tenths in acts:
        for _ in range(tenths // 10):  # a process that is there looks every second
            cluster.now += 1
            service.look()
        cluster.now += tenths % 10 / 10
        looking = not service.down and service.unheard is None
        if not remembered and not looking and is_unknowable(what, moved):
            continue
        for told in act(cluster, service, what, pick):
            service.hear(told)
    cluster.now += 20
    service.restart()
    service.go_on()
    service.look()
    cluster.account.pass_time(cluster.now)
    return cluster, service


def is_unknowable(what: str, moved: list[str]) -> bool:
    """Without a watch history nobody knows of pods that went to and fro meanwhile."""
    if what in ("release", "adopt"):
        moved.append(what)
    ends = what in ("force", "delete", "delete node", "fail")
    return len(moved) > 1 or bool(moved and ends)


def act(cluster: Cluster, service: Service, what: str, pick: int) -> list[Happening]:
    """One thing that happens; the events that it causes."""
    owner, names = [*OWNERS, ""][pick % 4], sorted(cluster.pods)
    match what:
        case "create" | "create gated":
            return [cluster.create(owner, gated=what == "create gated")]
        case "save":
            service.save(pick)
        case "pause":
            service.pause()
        case "go on":
            service.go_on()
        case "kill":
            service.kill()
        case "restart":
            service.restart()
    if not names:
        return []
    name = names[pick % len(names)]
    match what:
        case "bind":
            told = cluster.bind(name)
        case "ungate":
            told = cluster.ungate(name)
        case "delete":
            told = cluster.delete(name)
        case "fail":
            told = cluster.fail(name)
        case "force":
            told = cluster.write(name, event="DELETED")
        case "release" | "adopt":
            told = cluster.give(name, "" if what == "release" else owner)
        case "delete node":
            return delete_node(cluster)
        case _:
            told = None
    return [told] if told is not None else []


def delete_node(cluster: Cluster) -> list[Happening]:
    """The garbage collector marks the pods of a node that is gone as failed, and removes them."""
    told = []
    for name in [name for name, pod in cluster.pods.items() if pod["spec"].get("nodeName")]:
        if not over(cluster.pods[name]):
            cluster.condition(name, "DisruptionTarget", "True")
            cluster.pods[name]["status"]["phase"] = "Failed"
            told.append(cluster.write(name, "status"))
        told.append(cluster.write(name, event="DELETED"))
    return told


WHAT = (
    "create",
    "create gated",
    "bind",
    "bind",
    "ungate",
    "release",
    "adopt",
    "delete",
    "force",
    "fail",
    "delete node",
    "pause",
    "go on",
    "kill",
    "restart",
    "save",
    "save",
)
acts = st.lists(
    st.tuples(st.sampled_from(WHAT), st.integers(0, 11), st.integers(0, 250)), max_size=40
)


def compare(cluster: Cluster, service: Service) -> None:
    """Every account that there should be, against the independent one."""
    there = {f"uid-{name}" for name in [*OWNERS, *cluster.pods]}
    gaps = sum(each.gap for each in service.world.tracker.ledger.accounts.values()) / SECOND
    for uid in sorted(there & cluster.account.sums.keys()):
        sums, transitions = cluster.account.sums[uid], cluster.account.transitions[uid]
        account = service.world.tracker.ledger.accounts.get(uid)
        gap = account.gap / SECOND if account is not None and service.remembered else gaps
        reading = account.at(at(cluster.now)) if account is not None else None
        for kind in ("running", "waiting", "gated"):
            found = getattr(reading, kind) / SECOND if reading is not None else 0.0
            off = found - sums[kind]
            assert abs(off) <= transitions + gap + 0.001, (uid, kind, found, dict(sums), gap)


THROUGH_A_THIRD_ACCOUNT: list[Act] = [
    ("create gated", 6, 0),
    ("create gated", 5, 0),
    ("adopt", 4, 0),
    ("create gated", 5, 0),
    ("create", 4, 0),
    ("release", 8, 21),
    ("save", 5, 0),
    ("kill", 9, 0),
]
"""A pod changes its controller twice, and only the last account was written down."""


@settings(max_examples=examples(60), deadline=None)
@given(acts)
@example(THROUGH_A_THIRD_ACCOUNT)
def test_the_ledger_agrees_with_an_account_of_the_watch_events_alone(acts: list[Act]) -> None:
    compare(*play(acts))


@settings(max_examples=examples(40), deadline=None)
@given(acts)
def test_where_the_watch_history_is_lost_the_difference_is_a_gap_that_is_told(
    acts: list[Act],
) -> None:
    compare(*play(acts, remembered=False))
