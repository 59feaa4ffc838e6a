"""A recording's cluster as it was at the end: its objects, with each VM's load of the last hour."""

from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from trimtab.model.recorded.recording import ClusterRecording, Loads
from trimtab.model.snapshot import USE_NOT_KNOWN, Snapshot, SnapshotVm

WINDOW_S = 3600.0


def latest_snapshot(recording: ClusterRecording) -> Snapshot:
    """The recorded snapshot; CPU is the mean of what was used and waited for, memory the most.

    A VM that has no value in that time keeps what the snapshot itself says.
    """
    manifest = recording.manifest
    moments = max(1, round(WINDOW_S / manifest.step_s))
    cpu = _by_column(recording.demand[-moments:], np.nanmean)
    memory = _by_column(recording.vm_memory[-moments:], np.nanmax)
    number = {name: at for at, name in enumerate(manifest.vms)}

    def measured(vm: SnapshotVm) -> SnapshotVm:
        at = number.get(f"{vm.namespace}/{vm.name}")
        if at is None or np.isnan(cpu[at]) or np.isnan(memory[at]):
            return vm
        reason = "" if vm.not_movable == USE_NOT_KNOWN else vm.not_movable
        return replace(vm, cpu=f"{cpu[at]:.9g}", memory=f"{memory[at]:.0f}", not_movable=reason)

    minutes = min(moments, manifest.moments) * manifest.step_s / 60
    return replace(
        recording.snapshot,
        vms=tuple(map(measured, recording.snapshot.vms)),
        vm_loads=f"the recording's last {minutes:.0f} minutes",
    )


def _by_column(values: Loads, reduced: Callable[..., Loads]) -> Loads:
    """One value a column; NaN where there is none, which NumPy would warn of."""
    known = ~np.isnan(values).all(axis=0)
    found = np.full(values.shape[1], np.nan, dtype=np.float32)
    found[known] = reduced(values[:, known], axis=0)
    return found
