"""`trimtab web`: the page."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from trimtab.cli.cluster.live import background_gate, connections, find_policy, loop_of
from trimtab.cli.cluster.options import NOWHERE, LookOptions
from trimtab.cli.cluster.which import Cluster
from trimtab.cli.common.numbers import within
from trimtab.cli.common.output import Flag, examples
from trimtab.cli.common.output_files import check_file
from trimtab.cli.lab.context import home
from trimtab.errors import ConfigError, NotReady
from trimtab.kube.client import Client
from trimtab.model.examples import example_path
from trimtab.observe.policy_source import Source
from trimtab.stacks.loop.settings import POLICY_FILE, POLICY_KEY, POLICY_MAP
from trimtab.view.terminal import err, out, progress
from trimtab.web.access import TokenHolders, Viewers, kept_token
from trimtab.web.changes import PolicyMap
from trimtab.web.feed.sources import ClusterSource, FeedSource, PictureSource, file_source
from trimtab.web.service import serve_page
from trimtab.web.sign_in import SignedIn

app = App(
    name="web",
    help="A page in your browser: nodes, VMs, moves, over time, and why.",
    help_epilogue=examples(
        "trimtab web",
        "trimtab web --lab default --port 9000",
        "trimtab web --kubeconfig ~/.kube/config --prometheus http://127.0.0.1:9090",
        "trimtab web --lab default --allow-changes",
        "trimtab web now.yaml",
        "trimtab web my.trimtab",
        "trimtab web results/demo",
        "trimtab web results/demo --beside results/other",
        "trimtab web --lab default --beside results/demo",
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
    beside: Path | None = None,
    allow_changes: Flag = False,
    sign_in: Flag = False,
) -> None:
    """Serve a page that shows a lab, a cluster or a file, until Ctrl-C.

    The address that is printed holds a token: whoever has it may look. The page is served to
    this computer only unless --host says otherwise, and changes nothing without --allow-changes.

    Parameters
    ----------
    file
        A snapshot, the name of an example, a recording (.trimtab), the directory of a run of
        `trimtab sim -o` or `trimtab study --out`, or a feed (.jsonl) that --keep wrote.
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
    beside
        A second file of any of these kinds, to be compared with over time: Compare shows both
        side by side, at the same moment or at the same time since their starts.
    allow_changes
        Whoever may look may also migrate VMs, cancel that, keep VMs where they are, and approve,
        cancel or take back plans: with your rights, or with their own where they sign in.
    sign_in
        Instead of a token of the page, viewers give a token of the cluster and have their own
        rights. You must be allowed to create TokenReviews and SubjectAccessReviews.
    """
    if keep is not None:
        check_file(keep, "--keep")
    if file is not None and where.names_a_cluster:
        raise ConfigError("give a file or a cluster, not both")
    if file is not None and (allow_changes or sign_in):
        raise ConfigError("a file has no VMs to change and nobody to sign in; leave that out")
    token = "" if sign_in else kept_token(home().path / "web" / "token")

    def tell(address: str) -> None:
        shown = f"{address}#{token}" if token else address
        out.print(f"page: {shown}", markup=False, soft_wrap=True)
        who = "whoever has this address" if token else "whoever signs in"
        what = "look and change VMs" if allow_changes else "look"
        err.print(f"Ctrl-C ends it; {who} may {what}", markup=False)

    async def run() -> None:
        async with page_source(file, where, every) as (source, client):
            lab = None if file is not None else loop_of(where.cluster())
            viewers: Viewers = TokenHolders(token, client)
            if sign_in and client is not None:
                viewers = SignedIn(client)
            await serve_page(
                source,
                viewers,
                host=host,
                port=port,
                names=name,
                keep=keep,
                changes=allow_changes,
                policy_map=PolicyMap(*POLICY_MAP, POLICY_KEY) if lab is not None else None,
                beside=None if beside is None else _file_source(beside),
                ready=tell,
            )

    try:
        asyncio.run(run())
    except* ConfigError as errors:
        raise errors.exceptions[0] from None


@asynccontextmanager
async def page_source(
    file: Path | None, where: LookOptions, every: float
) -> AsyncIterator[tuple[FeedSource, Client | None]]:
    """What the page and `top` follow, and the API server behind it; None for a file."""
    if file is not None:
        yield _file_source(file), None
        return
    cluster = where.cluster()
    async with connections(where, cluster) as (client, prometheus, _):
        source = ClusterSource(
            f"lab {cluster.lab.name}" if cluster.lab is not None else str(cluster),
            client,
            prometheus,
            _policy_reader(where, cluster, client),
            in_background=background_gate(where, cluster),
            every_s=every,
        )
        yield source, client


def _file_source(file: Path) -> FeedSource:
    if file.is_dir():
        from trimtab.study.pictures import run_pictures  # half a second of imports

        with progress(f"simulating {file} again"):
            title, pictures = run_pictures(file)
        return PictureSource(title, ((picture, None) for picture in pictures))
    if file.suffix in (".jsonl", ".trimtab"):
        return file_source(file)
    return file_source(example_path(file, "snapshots"))


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
