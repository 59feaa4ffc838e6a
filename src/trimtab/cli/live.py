"""Which cluster, Prometheus and policy the commands that look at a live cluster mean."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trimtab.cli.cluster_options import Kubeconfig, LabName

if TYPE_CHECKING:
    from trimtab.kube.client import Client
    from trimtab.lab import LabDir
    from trimtab.observe.look import Look
    from trimtab.observe.policy_source import Source
    from trimtab.prom.client import Prometheus


@Parameter(name="*")
@dataclass(frozen=True)
class Live:
    """A live cluster."""

    kubeconfig: Kubeconfig = None
    lab: LabName = ""
    prometheus: Annotated[
        str, Parameter(help="Address of Prometheus; a lab's own, or the policy's, if left out.")
    ] = ""
    prometheus_token_file: Annotated[
        Path | None, Parameter(help="A file with the bearer token for Prometheus.")
    ] = None
    policy: Annotated[
        str,
        Parameter(
            help="A file, `configmap` (the usual places), or configmap:NAMESPACE/NAME[:KEY]."
        ),
    ] = ""
    background: Annotated[
        bool | None,
        Parameter(
            negative="--no-background",
            help="Whether EvictionsInBackground is on; read from the descheduler's flags if not "
            "given.",
        ),
    ] = None


NOWHERE = Live()


def look_at(live: Live) -> "Look":
    """Take one look; what it is doing is shown on stderr."""
    import asyncio

    from trimtab.observe.look import look
    from trimtab.view.terminal import progress

    async def run() -> "Look":
        with progress("look") as steps:
            async with _connections(live) as (client, prometheus, policy):
                steps.note(f"policy from {policy.where}")
                in_background = live.background
                if in_background is None and lab_of(live) is not None:
                    in_background = True  # a lab's descheduler always runs with the gate
                return await look(client, policy, prometheus, in_background=in_background)

    return asyncio.run(run())


@asynccontextmanager
async def _connections(
    live: Live,
) -> "AsyncIterator[tuple[Client, Prometheus | None, Source]]":
    from trimtab.cli.vm_context import connect
    from trimtab.observe.policy_source import Source

    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connect(live.kubeconfig, live.lab))
        lab = lab_of(live)
        if lab is not None and not live.policy:
            from trimtab.loop.access import open_loop

            loop = await stack.enter_async_context(open_loop(lab))
            policy = Source(loop.policy_text(), f"the lab {lab.name}")
        else:
            policy = await find_policy(live.policy, client)
        url = live.prometheus or _reachable(live, policy)
        prometheus = None
        if url:
            prometheus = await stack.enter_async_context(open_prometheus(live, url))
        yield client, prometheus, policy


def lab_of(live: Live) -> "LabDir | None":
    """The lab that is meant and runs a loop, or None."""
    from trimtab.cli.lab_context import home
    from trimtab.cli.vm_context import DEFAULT_LAB
    from trimtab.loop.settings import STACK

    if live.kubeconfig is not None:
        return None
    lab = home().lab(live.lab or DEFAULT_LAB)
    spec = lab.read_spec()
    return lab if spec is not None and STACK in spec.stacks else None


async def find_policy(given: str, client: "Client") -> "Source":
    """The policy by file or from the cluster."""
    from trimtab.observe.policy_source import CONFIG_MAP, is_config_map, read_config_map, read_file

    if given and not is_config_map(given):
        return read_file(Path(given))
    return await read_config_map(client, given or CONFIG_MAP)


def _reachable(live: Live, policy: "Source") -> str:
    """The lab's Prometheus, or the policy's if it is not an address inside the cluster."""
    from trimtab.errors import ConfigError
    from trimtab.loop.policy_file import is_in_cluster
    from trimtab.policy import read_policy

    lab = lab_of(live)
    spec = lab.read_spec() if lab is not None else None
    if spec is not None:
        return f"http://127.0.0.1:{spec.ports['prometheus']}"
    try:
        url = read_policy(policy.text, policy.where).prometheus_url
    except ConfigError:  # priority classes are not known yet; `look` reads it again with them
        return ""
    return url if url.startswith("http") and not is_in_cluster(url) else ""


def open_prometheus(live: Live, url: str) -> "Prometheus":
    from trimtab.errors import ConfigError
    from trimtab.prom.client import Prometheus

    token = None
    if live.prometheus_token_file is not None:
        try:
            token = live.prometheus_token_file.read_text().strip()
        except OSError as error:
            raise ConfigError(
                f"--prometheus-token-file {live.prometheus_token_file}: {error.strerror}"
            ) from error
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"--prometheus {url}: start it with http:// or https://")
    return Prometheus(url, token=token)
