"""VMs as a person sees them: a table of many, and all about one."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from trimtab.kube.resources import Event, Pod
from trimtab.kube.virtual_machines import Amount, VirtualMachine, VirtualMachineMigration
from trimtab.view.terminal import out, show_table


def show_vms(vms: Sequence[VirtualMachine], *, namespaces: bool) -> None:
    """One line per VM."""
    columns = ("name", "phase", "node", "CPU", "memory", "CPU %", "memory %", "evacuating", "age")
    rows = [
        (
            str(vm.metadata.key) if namespaces else vm.metadata.name,
            vm.status.phase or "new",
            vm.status.node_name,
            vm.status.allocated.cpu or vm.spec.resources.cpu,
            memory_text(vm.status.allocated.memory or vm.spec.resources.memory),
            vm.status.cpu_percent,
            vm.status.memory_percent,
            vm.status.evacuation_node_name and "yes",
            age(vm.metadata.creation_timestamp),
        )
        for vm in vms
    ]
    right = ("CPU", "memory", "CPU %", "memory %", "age")
    show_table(columns, rows, right=right, drop=("age", "memory", "CPU", "evacuating"))


def show_vm(
    vm: VirtualMachine,
    pod: Pod | None,
    migrations: Sequence[VirtualMachineMigration],
    events: Sequence[Event],
) -> None:
    """Everything about one VM."""
    show_table(("VM", str(vm.metadata.key)), [row for row in facts(vm, pod) if row[1]])
    if migrations:
        out.print()
        show_migrations(migrations)
    if events:
        out.print()
        rows = [
            (age(each.last_seen), each.type, each.reason, each.times, each.note) for each in events
        ]
        columns = ("ago", "type", "reason", "times", "note")
        show_table(columns, rows, right=("ago", "times"), drop=("type", "times"))


def facts(vm: VirtualMachine, pod: Pod | None) -> list[tuple[str, Any]]:
    spec, status = vm.spec, vm.status
    movable = "" if spec.live_migratable else " (cannot migrate)"
    return [
        ("phase", status.phase or "new"),
        ("node", status.node_name),
        ("pod", f"{status.pod_name} {pod.status.phase if pod else '(not there)'}".strip()),
        ("incarnation", status.incarnation),
        ("CPU", f"{status.used.cpu or '?'} used of {status.allocated.cpu or spec.resources.cpu}"),
        (
            "memory",
            f"{memory_text(status.used.memory) or '?'} used of "
            f"{memory_text(status.allocated.memory or spec.resources.memory)}",
        ),
        ("eviction", f"{spec.eviction_strategy}{movable}"),
        ("to leave node", status.evacuation_node_name),
        ("migration", status.migration_name),
        *(
            (each.type, f"{each.status} {each.reason} {each.message}".strip())
            for each in status.conditions
        ),
    ]


def memory_text(given: Amount) -> str:
    """An amount as it was written, but bytes in the largest unit of which there is one."""
    memory = str(given)
    if not memory.isdecimal():
        return memory
    for unit, size in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if int(memory) >= size:
            amount = int(memory) / size
            return f"{amount:.0f}{unit}" if amount >= 100 else f"{amount:.3g}{unit}"
    return memory


def show_migrations(migrations: Sequence[VirtualMachineMigration]) -> None:
    columns = ("migration", "phase", "from", "to", "seconds", "attempt", "reason")
    rows = [
        (
            each.metadata.name,
            each.status.phase or "new",
            each.status.source_node,
            each.status.target_node or each.spec.target_node,
            duration(each),
            each.status.attempts,
            each.status.reason,
        )
        for each in migrations
    ]
    show_table(columns, rows, right=("seconds", "attempt"), drop=("attempt", "seconds"))


def duration(migration: VirtualMachineMigration) -> str:
    start, end = migration.status.start_time, migration.status.completion_time
    return f"{(end - start).total_seconds():.1f}" if start and end else ""


def age(since: datetime | None) -> str:
    """How long ago, in one unit."""
    if since is None:
        return ""
    seconds = int((datetime.now(UTC) - since).total_seconds())
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{max(0, seconds)}s"
