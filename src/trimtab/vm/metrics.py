"""The controller's own metrics."""

from collections import Counter
from collections.abc import Callable
from typing import get_args

from trimtab.kube.virtual_machines import MigrationStatus, Phase
from trimtab.obs.metrics import counter, gauge, histogram

migrations = counter("trimtab_vm_migrations_total", "Migrations that ended", "outcome")
migration_seconds = histogram(
    "trimtab_vm_migration_seconds",
    "From the start of a migration to its end, in real seconds",
    "outcome",
    buckets=(0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0),
)
absence = histogram(
    "trimtab_vm_without_pod_seconds",
    "For how long a VM had no running pod, after a loss or while it was recreated",
    buckets=(0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0),
)
vms = gauge("trimtab_vms", "VirtualMachines", "phase")
running = gauge("trimtab_vm_migrations_running", "Migrations that hold a slot")


def count_migration(status: MigrationStatus) -> None:
    outcome = status.phase.lower()
    migrations.labels(outcome).inc()
    if status.start_time and status.completion_time:
        seconds = (status.completion_time - status.start_time).total_seconds()
        migration_seconds.labels(outcome).observe(seconds)


def watch_phases(phases: Callable[[], Counter[str]]) -> None:
    """Count VMs by phase whenever somebody asks."""

    def count(phase: str) -> Callable[[], float]:
        return lambda: phases()[phase]

    for phase in get_args(Phase):
        vms.labels(phase).set_function(count(phase))
