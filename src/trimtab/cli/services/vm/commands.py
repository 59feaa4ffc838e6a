"""`trimtab vm`: VirtualMachines of a lab or a cluster; kubectl can do all of it too."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from cyclopts import App, Parameter

from trimtab.cli.cluster.options import ClusterOptions, Note
from trimtab.cli.common.numbers import CpuUse, MemoryUse, Seconds
from trimtab.cli.common.option_files import read_manifests
from trimtab.cli.common.output import Flag, Json, emit, examples
from trimtab.errors import ConfigError
from trimtab.kube.client import Client
from trimtab.kube.worlds import world_of
from trimtab.model.names import is_object_name
from trimtab.view.services.vm import show_vm, show_vms
from trimtab.view.terminal import err
from trimtab.virt.eviction import EvictionStrategy
from trimtab.vm.kubevirt_requests import KubevirtRequests
from trimtab.vm.requests import VmRequests

# Which cluster a `trimtab vm` command means, and talking to it.
T = TypeVar("T")


@Parameter(name="*")
@dataclass(frozen=True)
class VmOptions(ClusterOptions):
    """Which cluster and namespace a command means."""

    namespace: Annotated[
        str, Parameter(name=("--namespace", "-n"), help="The namespace of the VMs.")
    ] = "default"
    timeout: Annotated[Seconds, Parameter(help="Seconds to wait with --wait.")] = 300.0


HERE = VmOptions()


def tell(
    where: VmOptions, ask: Callable[[VmRequests], Awaitable[object]], done: str, *, json: bool
) -> None:
    """Make a request; say that it was made, or print what it led to."""
    emit(talk(where, ask), json, lambda _: err.print(done, markup=False))


def talk(where: VmOptions, ask: Callable[[VmRequests], Awaitable[T]]) -> T:
    """Run `ask` with requests to the cluster that is meant."""

    async def made(client: Client, note: Note) -> T:
        kind = KubevirtRequests if await world_of(client) == "kubevirt" else VmRequests
        return await ask(kind(client, where.namespace, timeout_s=where.timeout, say=note))

    return where.ask("vm", made)


app = App(name="vm", help="Create, look at, move, stop and delete VirtualMachines.")


Wait = Annotated[bool, Parameter(negative=(), help="Return when it is so, and show the way there.")]


def _object_name(_: Any, name: str) -> None:
    if name and not is_object_name(name):
        raise ValueError(f"{name!r} cannot be the name of a node")


NodeName = Annotated[str, Parameter(validator=_object_name)]


@app.command(
    help_epilogue=examples(
        "trimtab vm create web --cpu 4 --memory 8Gi --wait",
        "trimtab vm create db --cpu 8 --memory 32Gi --cpu-use 0.9 --node kwok-node-1",
    )
)
def create(
    name: str,
    /,
    *,
    cpu: str = "1",
    memory: str = "1Gi",
    cpu_use: CpuUse | None = None,
    memory_use: MemoryUse | None = None,
    node: NodeName = "",
    strategy: EvictionStrategy = "LiveMigrate",
    migratable: bool = True,
    stopped: Flag = False,
    wait: Wait = False,
    json: Json = False,
    where: VmOptions = HERE,
) -> None:
    """Create a VM; the scheduler finds a node for it.

    Parameters
    ----------
    name
        Its name.
    cpu
        Cores that it is given.
    memory
        Memory that it is given.
    cpu_use
        The share of the cores that it uses; above 1 it wants more than it has. Default: 0.5.
    memory_use
        The share of the memory that it uses. Default: 0.8.
    node
        Where it starts, and only there; later it goes where the scheduler sends it.
    strategy
        What an eviction does to it.
    migratable
        Whether it can move at all.
    stopped
        Do not start it yet.
    """
    spec: dict[str, Any] = {"resources": {"cpu": cpu, "memory": memory}, "running": not stopped}
    spec |= {"evictionStrategy": strategy, "liveMigratable": migratable}
    use = {"cpu": cpu_use, "memory": memory_use}
    spec["utilization"] = {what: share for what, share in use.items() if share is not None}

    async def ask(requests: VmRequests) -> object:
        vm = await requests.create(name, spec, node=node)
        if wait:
            vm = await (requests.await_stopped(name) if stopped else requests.await_running(name))
        return vm

    tell(where, ask, f"VM {name} created", json=json)


@app.command(
    help_epilogue=examples("trimtab vm apply -f vms.yaml", "cat vms.yaml | trimtab vm apply -f -")
)
def apply(
    *,
    file: Annotated[
        list[Path], Parameter(name=("--file", "-f"), negative=(), allow_leading_hyphen=True)
    ],
    wait: Wait = False,
    json: Json = False,
    where: VmOptions = HERE,
) -> None:
    """Create or change the VirtualMachines and migrations in YAML files.

    Parameters
    ----------
    file
        A file, or - for what comes in; repeatable.
    """
    manifests = [manifest for each in file for manifest in read_manifests(each)]

    async def ask(requests: VmRequests) -> object:
        written = [await requests.apply(manifest) for manifest in manifests]
        for manifest in manifests if wait else ():
            if manifest["kind"] == "VirtualMachine" and manifest["spec"].get("running", True):
                await requests.await_running(manifest["metadata"]["name"])
        return written

    tell(where, ask, f"{len(manifests)} objects applied", json=json)


@app.command(name="list", help_epilogue=examples("trimtab vm list -A", "trimtab vm list --json"))
def list_(
    *,
    everywhere: Annotated[bool, Parameter(name=("--all-namespaces", "-A"), negative=())] = False,
    json: Json = False,
    where: VmOptions = HERE,
) -> None:
    """Show VMs with their phase, node, size and use.

    Parameters
    ----------
    everywhere
        The VMs of all namespaces.
    """
    vms = talk(where, lambda requests: requests.all(everywhere=everywhere))
    emit(vms, json, partial(show_vms, namespaces=everywhere))


@app.command(
    help_epilogue=examples("trimtab vm show web", "trimtab vm show web --json | jq .vm.status")
)
def show(name: str, /, *, json: Json = False, where: VmOptions = HERE) -> None:
    """Show everything about one VM: status, pod, migrations, Events."""

    async def look(requests: VmRequests) -> tuple[Any, Any, Any, Any]:
        vm = await requests.get(name)
        return (
            vm,
            await requests.pod(vm),
            await requests.migrations(name),
            await requests.events(vm),
        )

    vm, pod, migrations, events = talk(where, look)
    document = {"vm": vm, "pod": pod, "migrations": migrations, "events": events}
    emit(vm, json, lambda _: show_vm(vm, pod, migrations, events), document)


@app.command(
    name="set",
    help_epilogue=examples(
        "trimtab vm set web --cpu-use 0.9", "trimtab vm set web --no-migratable"
    ),
)
def set_(
    name: str,
    /,
    *,
    cpu: str | None = None,
    memory: str | None = None,
    cpu_use: CpuUse | None = None,
    memory_use: MemoryUse | None = None,
    strategy: EvictionStrategy | None = None,
    migratable: bool | None = None,
    json: Json = False,
    where: VmOptions = HERE,
) -> None:
    """Change a VM; what is not given stays.

    Use and size reach its running pod at once; what the pod asks the scheduler for stays until
    the VM gets another pod.

    Parameters
    ----------
    cpu
        Cores that it is given.
    memory
        Memory that it is given.
    cpu_use
        The share of the cores that it uses.
    memory_use
        The share of the memory that it uses.
    strategy
        What an eviction does to it.
    migratable
        Whether it can move at all.
    """
    groups: dict[str, dict[str, Any]] = {
        "resources": {"cpu": cpu, "memory": memory},
        "utilization": {"cpu": cpu_use, "memory": memory_use},
    }
    spec: dict[str, Any] = {group: _given(values) for group, values in groups.items()}
    spec |= {"evictionStrategy": strategy, "liveMigratable": migratable}
    spec = {field: value for field, value in spec.items() if value not in (None, {})}
    if not spec:
        raise ConfigError("nothing to change; give an option, see: trimtab vm set --help")
    tell(where, lambda requests: requests.change(name, spec), f"VM {name} changed", json=json)


@app.command(
    help_epilogue=examples(
        "trimtab vm migrate web --wait", "trimtab vm migrate web --to kwok-node-3 --force --wait"
    )
)
def migrate(
    name: str,
    /,
    *,
    to: NodeName = "",
    force: Flag = False,
    wait: Wait = False,
    json: Json = False,
    where: VmOptions = HERE,
) -> None:
    """Move a VM to another node, which the scheduler chooses.

    Parameters
    ----------
    to
        The node you would like; the scheduler may know better.
    force
        Only that node will do: otherwise the migration fails.
    """

    async def ask(requests: VmRequests) -> object:
        migration = await requests.migrate(name, to=to, force=force)
        return await requests.await_migrated(migration) if wait else {"migration": migration}

    tell(where, ask, f"VM {name} {'migrated' if wait else 'is to migrate'}", json=json)


@app.command(help_epilogue=examples("trimtab vm stop web --wait"))
def stop(name: str, /, *, wait: Wait = False, json: Json = False, where: VmOptions = HERE) -> None:
    """Stop a VM; it stays defined."""

    async def ask(requests: VmRequests) -> object:
        vm = await requests.change(name, {"running": False})
        return await requests.await_stopped(name) if wait else vm

    tell(where, ask, f"VM {name} {'stopped' if wait else 'is to stop'}", json=json)


@app.command(help_epilogue=examples("trimtab vm start web --wait"))
def start(name: str, /, *, wait: Wait = False, json: Json = False, where: VmOptions = HERE) -> None:
    """Start a stopped VM; the scheduler finds a node for it."""

    async def ask(requests: VmRequests) -> object:
        vm = await requests.change(name, {"running": True})
        return await requests.await_running(name) if wait else vm

    tell(where, ask, f"VM {name} {'runs' if wait else 'is to start'}", json=json)


@app.command(help_epilogue=examples("trimtab vm delete web --wait"))
def delete(name: str, /, *, wait: Wait = False, where: VmOptions = HERE) -> None:
    """Delete a VM with its pod and its migrations."""

    async def ask(requests: VmRequests) -> object:
        await requests.delete(name)
        if wait:
            await requests.await_gone(name)
        return None

    tell(where, ask, f"VM {name} deleted", json=False)


@app.command(help_epilogue=examples("trimtab vm cancel web"))
def cancel(name: str, /, *, wait: Wait = False, where: VmOptions = HERE) -> int:
    """Let a VM stay where it is: cancel its evacuation and migrations that people asked for.

    Exits with 1 if there is nothing to cancel.
    """

    async def ask(requests: VmRequests) -> list[str]:
        asked = await requests.cancel(name)
        if asked and wait:
            await requests.await_unmarked(name)
        return asked

    asked = talk(where, ask)
    text = f"cancelled: {', '.join(asked)}" if asked else f"VM {name}: there is nothing to cancel"
    err.print(text, markup=False)
    return 0 if asked else 1


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
