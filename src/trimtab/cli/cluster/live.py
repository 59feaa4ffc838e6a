"""Which cluster, Prometheus and policy the commands that look at a live cluster mean."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from trimtab.cli.cluster.options import LookOptions
from trimtab.cli.cluster.prometheus import open_prometheus
from trimtab.cli.cluster.which import Cluster
from trimtab.errors import ConfigError
from trimtab.kube.client import Client
from trimtab.lab.files.layout import LabDir
from trimtab.model.examples import example_path
from trimtab.model.recorded.archive import read_recording
from trimtab.model.recorded.latest import latest_snapshot
from trimtab.model.snapshot import Snapshot, load
from trimtab.observe.look import Look, look
from trimtab.observe.policy_source import (
    CONFIG_MAP,
    Source,
    is_config_map,
    read_config_map,
    read_file,
)
from trimtab.policy.file.reader import read_policy
from trimtab.prom.client import Prometheus
from trimtab.stacks.loop.connection import open_loop
from trimtab.stacks.loop.projector.policy_file import is_in_cluster
from trimtab.stacks.loop.settings import STACK
from trimtab.view.terminal import progress, say

RECORDING = ".trimtab"


def look_at(live: LookOptions) -> Look:
    """Take one look; what it is doing is shown on stderr."""
    cluster = live.cluster()

    async def run() -> Look:
        with progress("look") as steps:
            async with connections(live, cluster) as (client, prometheus, policy):
                steps.note(f"policy from {policy.where}")
                gate = background_gate(live, cluster)
                return await look(client, policy, prometheus, in_background=gate)

    return asyncio.run(run())


def background_gate(live: LookOptions, cluster: Cluster) -> bool | None:
    """Whether evictions are in background; None if the descheduler's flags say."""
    if live.background is None and loop_of(cluster) is not None:
        return True  # a lab's descheduler always runs with the gate
    return live.background


def snapshot_of(file: Path | None, live: bool, where: LookOptions) -> Snapshot:
    """The snapshot of a file, a recording or an example by its name, or a look at a cluster now."""
    if live == (file is not None):
        raise ConfigError(
            "give the file of a snapshot, or --live; write one: trimtab snapshot -o F"
        )
    if file is not None and file.suffix == RECORDING:
        return latest_snapshot(read_recording(file))
    if file is not None:
        return load(example_path(file, "snapshots"))
    seen = look_at(where)
    for note in seen.notes:
        say(f"note: {note}")
    return seen.snapshot


@asynccontextmanager
async def connections(
    live: LookOptions, cluster: Cluster
) -> AsyncIterator[tuple[Client, Prometheus | None, Source]]:
    """Client, Prometheus (None if there is no way to it) and policy of the cluster."""
    async with cluster.connect() as client:
        policy = await policy_in_use(live, cluster, client)
        url = live.prometheus or lab_prometheus(cluster) or _outside(policy)
        async with open_prometheus(url, live.access, client) as prometheus:
            yield client, prometheus, policy


async def policy_in_use(live: LookOptions, cluster: Cluster, client: Client) -> Source:
    """The policy that an option names, otherwise that of the lab or of the cluster."""
    lab = loop_of(cluster)
    if lab is None or live.policy:
        return await find_policy(live.policy, client)
    async with open_loop(lab) as loop:
        return Source(loop.policy_text(), f"the lab {lab.name}")


def loop_of(cluster: Cluster) -> LabDir | None:
    """The lab that is meant, if it runs a loop."""
    spec = cluster.lab.read_spec() if cluster.lab is not None else None
    return cluster.lab if spec is not None and STACK in spec.stacks else None


def lab_prometheus(cluster: Cluster) -> str:
    """The address of a lab's Prometheus; empty for any other cluster."""
    lab = loop_of(cluster)
    spec = lab.read_spec() if lab is not None else None
    return f"http://127.0.0.1:{spec.ports['prometheus']}" if spec is not None else ""


async def find_policy(given: str, client: Client) -> Source:
    """The policy by file or from the cluster."""
    if given and not is_config_map(given):
        return read_file(Path(given))
    return await read_config_map(client, given or CONFIG_MAP)


def _outside(policy: Source) -> str:
    """The policy's Prometheus, if it is not an address inside the cluster."""
    try:
        url = read_policy(policy.text, policy.where).prometheus_url
    except ConfigError:  # priority classes are not known yet; `look` reads it again with them
        return ""
    return url if url.startswith("http") and not is_in_cluster(url) else ""
