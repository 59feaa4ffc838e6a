"""Failed migrations: after what time an attempt has failed, and when the next may begin.

Only evacuations are tried again. KubeVirt keeps the five newest finished migrations of a VM
and counts the failures among them, so the wait stops doubling at the fifth failure.
"""

UNSCHEDULABLE_S = 300.0
"""An attempt fails when its target pod has found no node for so long."""
PENDING_S = 900.0
"""An attempt fails when its target pod is placed but does not run for so long."""
COMPLETION_S_PER_GIB = 150.0
"""A copy is given up after so many seconds for each GiB of the VM's memory."""
PROGRESS_S = 150.0
"""A copy is given up when it has not come closer to its end for so long."""
FINISHED_KEPT = 5
"""So many finished migrations of a VM are kept, the newest ones."""
BACKOFF_S = 20.0
"""The wait after the first failure, from the moment of the failure."""

GIB = float(1024**3)


def backoff_s(failures: int, first_s: float = BACKOFF_S) -> float:
    """The wait after so many failures in a row: 20, 40, 80, 160 s, then 320 s each time."""
    if failures < 1:
        return 0.0
    return first_s * 2.0 ** (min(failures, FINISHED_KEPT) - 1)


def completion_limit_s(memory: float, s_per_gib: float = COMPLETION_S_PER_GIB) -> float:
    """How long the copy of a VM with so many bytes of memory may take."""
    return s_per_gib * memory / GIB
