"""What the eviction of a virt-launcher pod does to its VM.

KubeVirt answers from the VM, not from the pod: a VM without a strategy is stopped, one that
cannot migrate is stopped or protected, every other one is marked to be evacuated. The words
of the answer differ between the bodies of the loop (a 429, a line of `explain`, a number in
an array); the verdict does not.

One difference from KubeVirt, which asks for the mark first: the target pod of a migration is
refused even if the VM is marked, so that an eviction of the target is never counted as one
that is under way.
"""

from enum import Enum, IntEnum
from typing import Literal

EvictionStrategy = Literal["LiveMigrate", "LiveMigrateIfPossible", "None"]
"""Those that our own VMs can have; KubeVirt also knows External."""


class EvictionEffect(IntEnum):
    """What becomes of the VM; small numbers, because the simulator keeps them in arrays."""

    MIGRATES = 0
    RESTARTS = 1
    """The pod goes, and the VM starts again elsewhere."""
    REFUSES = 2
    """The pod stays, and nothing else happens."""


class EvictionVerdict(Enum):
    """KubeVirt's answer, with the reason."""

    WITHOUT_STRATEGY = EvictionEffect.RESTARTS, "the VM has no eviction strategy"
    NOT_MIGRATABLE = EvictionEffect.RESTARTS, "the VM cannot migrate and does not insist"
    PROTECTED = EvictionEffect.REFUSES, "the VM must migrate and cannot"
    TARGET_POD = EvictionEffect.REFUSES, "the pod is the target of a migration"
    MARKED = EvictionEffect.MIGRATES, "the VM is to be evacuated"
    MARKED_AGAIN = EvictionEffect.MIGRATES, "the VM is being evacuated already"

    @property
    def effect(self) -> EvictionEffect:
        return self.value[0]


def judge_eviction(
    strategy: str, *, migratable: bool, active: bool = True, marked: bool = False
) -> EvictionVerdict:
    """The verdict on evicting a pod of a VM, in KubeVirt's order.

    active: the pod is the one that the VM runs in, not the target of a migration.
    marked: the VM is to leave the pod's node already.
    A strategy of External is marked whether the VM can migrate or not: somebody else moves it.
    """
    if strategy in ("", "None"):
        return EvictionVerdict.WITHOUT_STRATEGY
    if not migratable and strategy == "LiveMigrateIfPossible":
        return EvictionVerdict.NOT_MIGRATABLE
    if not migratable and strategy != "External":
        return EvictionVerdict.PROTECTED
    if not active:
        return EvictionVerdict.TARGET_POD
    return EvictionVerdict.MARKED_AGAIN if marked else EvictionVerdict.MARKED
