"""`trimtab web`: the page."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from trimtab.cli.cluster.live import NOWHERE, LookOptions, connections, find_policy, loop_of
from trimtab.cli.cluster.which import Cluster
from trimtab.cli.common.examples import examples
from trimtab.cli.common.numbers import within
from trimtab.cli.common.output_files import check_file
from trimtab.cli.lab.context import home
from trimtab.errors import ConfigError, NotReady
from trimtab.kube.client import Client
from trimtab.model.examples import example_path
from trimtab.observe.policy_source import Source
from trimtab.stacks.loop.settings import POLICY_FILE
from trimtab.view.terminal import err, out
from trimtab.web.access import kept_token
from trimtab.web.feed.sources import ClusterSource, FeedSource, file_source
from trimtab.web.server import serve_page

app = App(
    name="web",
    help="A page in your browser: nodes, VMs, moves, over time, and why.",
    help_epilogue=examples(
        "trimtab web",
        "trimtab web --lab default --port 9000",
        "trimtab web --kubeconfig ~/.kube/config --prometheus http://127.0.0.1:9090",
        "trimtab web now.yaml",
        "trimtab web --lab default --keep today.jsonl && trimtab web today.jsonl",
    ),
)


@app.default
def web(
    file: Path | None = None,
    *,
    where: LookOptions = NOWHERE,
    host: str = "127.0.0.1",
    name: tuple[str, ...] = (),
    port: Annotated[int | None, Parameter(validator=within(0, 65535))] = None,
    every: Annotated[float, Parameter(validator=within(0.5, 3600))] = 2.0,
    keep: Path | None = None,
) -> None:
    """Serve a page that shows a lab, a cluster or a file, until Ctrl-C. It changes nothing.

    The address that is printed holds a token: whoever has it may look. The page is served to
    this computer only unless --host says otherwise.

    Parameters
    ----------
    file
        A snapshot, the name of an example, or a feed (.jsonl) that --keep wrote.
    host
        The address to listen on. The page has no encryption of its own: beyond this computer
        put it behind a proxy that has.
    name
        A further host name under which the page is asked for, e.g. that of the proxy.
    port
        The port; without it 8080 or the next free one.
    every
        Seconds between two looks at the cluster; more where a look takes long.
    keep
        Write what the page shows to a file as well, one JSON object a line.
    """
    if keep is not None:
        check_file(keep, "--keep")
    if file is not None and where.names_a_cluster:
        raise ConfigError("give a file or a cluster, not both")
    token = kept_token(home().path / "web" / "token")

    async def run() -> None:
        async with _source(file, where, every) as source:
            await serve_page(
                source, token=token, host=host, port=port, names=name, keep=keep, ready=_tell
            )

    try:
        asyncio.run(run())
    except* ConfigError as errors:
        raise errors.exceptions[0] from None


def _tell(address: str) -> None:
    out.print(f"page: {address}", markup=False, soft_wrap=True)
    err.print("Ctrl-C ends it; whoever has this address may look", markup=False)


@asynccontextmanager
async def _source(file: Path | None, where: LookOptions, every: float) -> AsyncIterator[FeedSource]:
    if file is not None:
        known = file if file.suffix == ".jsonl" else example_path(file, "snapshots")
        yield file_source(known)
        return
    cluster = where.cluster()
    background = where.background
    if background is None and loop_of(cluster) is not None:
        background = True  # a lab's descheduler always runs with the gate
    async with connections(where, cluster) as (client, prometheus, _):
        yield ClusterSource(
            f"lab {cluster.lab.name}" if cluster.lab is not None else str(cluster),
            client,
            prometheus,
            _policy_reader(where, cluster, client),
            in_background=background,
            every_s=every,
        )


def _policy_reader(
    where: LookOptions, cluster: Cluster, client: Client
) -> Callable[[], Awaitable[Source]]:
    """Reads the policy anew for each look: a lab may switch to another score."""
    lab = loop_of(cluster)

    async def read() -> Source:
        if lab is not None and not where.policy:
            file = lab.path / POLICY_FILE
            try:
                text = await asyncio.to_thread(file.read_text)
            except OSError as error:
                raise NotReady(f"{file}: cannot be read: {error.strerror}") from error
            return Source(text, f"the lab {lab.name}")
        return await find_policy(where.policy, client)

    return read
