"""virt-launcher pods as the player sees them: whose they are, when they end, and how.

kwok starts them; ending them is the kubelet's part, which follows what becomes of the guest.
A launcher ends when its guest has shut down or has left with a migration, or when the migration
whose target it was has failed. One that is being deleted is then removed.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct, field

from trimtab.kube.kubevirt import CREATED_BY_LABEL, MIGRATION_JOB_LABEL, Vmi
from trimtab.kube.resources import Free, Key, Kind, Wire
from trimtab.kube.virtual_machines import DOMAIN

TERMINAL = frozenset(("Succeeded", "Failed"))


class PlayedLauncherLabels(Wire, frozen=True):
    created_by: str = field(default="", name=CREATED_BY_LABEL)
    migration: str = field(default="", name=MIGRATION_JOB_LABEL)


class PlayedLauncherAnnotations(Wire, frozen=True):
    domain: str = field(default="", name=DOMAIN)


class PlayedLauncherMeta(Wire, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: datetime | None = None
    labels: PlayedLauncherLabels = PlayedLauncherLabels()
    annotations: PlayedLauncherAnnotations = PlayedLauncherAnnotations()

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)


class ContainerName(Wire, frozen=True):
    name: str = ""
    image: str = ""


class PlayedLauncherSpec(Wire, frozen=True):
    node_name: str = ""
    containers: tuple[ContainerName, ...] = ()


class PlayedLauncherStatus(Wire, frozen=True):
    phase: str = ""
    conditions: tuple[Free, ...] = ()


class PlayedLauncher(Wire, frozen=True):
    metadata: PlayedLauncherMeta = PlayedLauncherMeta()
    spec: PlayedLauncherSpec = PlayedLauncherSpec()
    status: PlayedLauncherStatus = PlayedLauncherStatus()

    @property
    def vmi(self) -> Key:
        """Whose pod it is."""
        return Key(self.metadata.namespace, self.metadata.annotations.domain)

    @property
    def has_ended(self) -> bool:
        return self.status.phase in TERMINAL

    @property
    def is_deleted(self) -> bool:
        return self.metadata.deletion_timestamp is not None


LAUNCHERS = Kind("", "v1", "pods", "Pod", PlayedLauncher)


class Ending(Struct, frozen=True):
    """A launcher that is over: `finish` it if it still runs, `remove` it if it was deleted."""

    launcher: PlayedLauncher
    finish: bool
    remove: bool


def endings(vmi: Vmi | None, launchers: Iterable[PlayedLauncher]) -> Iterator[Ending]:
    """What the kubelets have to do about the launchers of one VMI."""
    for launcher in launchers:
        over = launcher.has_ended or _is_over(vmi, launcher)
        remove = over and launcher.is_deleted
        finish = over and not launcher.has_ended
        if finish or remove:
            yield Ending(launcher, finish, remove)


def _is_over(vmi: Vmi | None, launcher: PlayedLauncher) -> bool:
    meta = launcher.metadata
    if vmi is None or vmi.metadata.uid != meta.labels.created_by:
        return launcher.is_deleted
    if vmi.is_final:
        return True
    state = vmi.status.migration_state
    if state is not None and state.ended:
        target = meta.labels.migration == state.migration_uid
        if state.failed and target:
            return True
        if not state.failed and meta.name == state.source_pod:
            return True
        # virt-controller makes a second target if the answer to the first request is lost; a
        # launcher to which no guest comes gives up (after four minutes, really)
        if not state.failed and target and meta.name != state.target_pod:
            return True
    # a target that was given up before its guest came, or a guest that never started
    return launcher.is_deleted and not runs_the_guest(vmi, launcher)


def runs_the_guest(vmi: Vmi, launcher: PlayedLauncher) -> bool:
    """True for the launcher that the guest is in; the target of a migration is not it yet."""
    if vmi.status.phase not in ("Scheduled", "Running"):
        return False
    state, name = vmi.status.migration_state, launcher.metadata.name
    if launcher.spec.node_name != vmi.status.node_name:
        return False
    return state is None or state.end_timestamp is not None or name != state.target_pod


def lives_as(launcher: PlayedLauncher, name: str) -> bool:
    """True for the launcher of that name, as long as nobody has ended it."""
    return launcher.metadata.name == name and not (launcher.has_ended or launcher.is_deleted)


def finished_status(launcher: PlayedLauncher, now: str) -> Free:
    """The status of a pod whose containers have all ended well."""
    kept = [c for c in launcher.status.conditions if c["type"] not in ("Ready", "ContainersReady")]
    over = {"status": "False", "reason": "PodCompleted", "lastTransitionTime": now}
    containers = [
        {
            "name": each.name,
            "image": each.image,
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": now}},
        }
        for each in launcher.spec.containers
    ]
    return {
        "phase": "Succeeded",
        "conditions": [*kept, *({"type": t, **over} for t in ("Ready", "ContainersReady"))],
        "containerStatuses": containers,
    }
