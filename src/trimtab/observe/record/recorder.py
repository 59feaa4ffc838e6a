"""One recording from beginning to end: look, ask piece by piece, compose.

Everything that was decided at the beginning (the look, the moments, the sources) is kept beside
the pieces, so that a recording that goes on after a kill ends with the same bytes.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil, floor
from pathlib import Path
from shutil import rmtree

import msgspec
from msgspec import Struct

from trimtab.errors import ConfigError, TrimtabError
from trimtab.files.lock import held
from trimtab.files.writing import make_private_dir, write_whole
from trimtab.kube.client import Client
from trimtab.kube.clock import Clock
from trimtab.kube.virtual_machines import MIGRATIONS, VMS, VirtualMachineMigration
from trimtab.model.recorded.recording import ClusterRecording, RecordedMigration
from trimtab.model.snapshot import Snapshot, decode, encode
from trimtab.observe import wire
from trimtab.observe.look import clock_or_real_time, list_if_allowed, look
from trimtab.observe.policy_source import Source
from trimtab.observe.record.chunks import Fetcher, Grid, assembled, pieces_of
from trimtab.observe.record.compose import RecordedAnswers, compose
from trimtab.observe.record.migrations import read_migrations
from trimtab.observe.record.own_vms import (
    OwnVm,
    PastMove,
    known_from,
    own_loads,
    own_placement,
    own_vms,
    past_moves,
)
from trimtab.observe.record.prometheus_queries import Sources, find_sources
from trimtab.observe.record.selected_pods import with_pods_as_vms
from trimtab.prom.client import WHOLE_ANSWERS, Prometheus
from trimtab.virt.migration_backoff import FINISHED_KEPT

MOST_MOMENTS = 200_000
SKEW_S = 60.0
_BEGUN, _LOCK = "begun.json", "lock"


class Wanted(Struct, frozen=True, rename="camel"):
    """What was asked for: a recording goes on only if it is the same."""

    cluster: str
    prometheus: str
    days: float
    step_s: float
    pods: str = ""
    """A selector of pods that are recorded instead of VMs."""
    policy: str = ""
    """Where the policy is from, if that was said."""
    in_background: bool | None = None
    """The descheduler's feature gate; None is what its flags say."""


class Begun(Struct, frozen=True, rename="camel"):
    """What was seen and decided at the beginning."""

    wanted: Wanted
    snapshot: str
    grid: Grid
    sources: Sources
    notes: tuple[str, ...] = ()
    own: tuple[OwnVm, ...] = ()
    moves: tuple[PastMove, ...] = ()
    clock: Clock = Clock()
    seed: int = 0
    """For the jitter of an anonymous recording."""
    migrations: tuple[RecordedMigration, ...] = ()


class Told(Struct, frozen=True):
    """How far it is: for whoever shows it."""

    done: int
    total: int
    what: str
    left_s: float | None


Tell = Callable[[Told], None]


@contextmanager
def parts_of(output: Path) -> Iterator[Path]:
    """The directory of an unfinished recording, for one process at a time."""
    directory = output.with_name(f"{output.name}.parts")
    make_private_dir(directory)
    with held(directory / _LOCK, 0.0):
        yield directory


def discard(directory: Path) -> None:
    """Forget what was read so far; the lock's file goes last, with the directory."""
    rmtree(directory, ignore_errors=True)


def begun_in(directory: Path, wanted: Wanted) -> Begun | None:
    """What a recording that did not end has seen; None if there is none."""
    path = directory / _BEGUN
    if not path.exists():
        return None
    try:
        begun = msgspec.json.decode(path.read_bytes(), type=Begun)
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{path}: cannot be read ({error}); --fresh begins anew") from error
    if begun.wanted != wanted:
        raise ConfigError(
            f"{directory}: a recording with other options was begun there; "
            "give those options, or --fresh to begin anew"
        )
    return begun


class Recorder:
    """Reads one cluster."""

    def __init__(
        self, client: Client, prometheus: Prometheus | None, directory: Path, pace_s: float
    ) -> None:
        """pace_s: how long the client waits between two queries, to tell how long it will take."""
        self._client, self._prometheus = client, prometheus
        self._directory, self._pace_s = directory, pace_s

    async def begin(self, wanted: Wanted, policy: Source, notes: tuple[str, ...]) -> Begun:
        """Look at the cluster, find the sources, decide on the moments; keep all of it."""
        seen = await look(
            self._client,
            policy,
            self._prometheus,
            in_background=wanted.in_background,
            must_ask=False,
        )
        snapshot, namespaces = seen.snapshot, list[str]()
        if wanted.pods:
            snapshot = with_pods_as_vms(snapshot, wanted.pods)
            namespaces = sorted({vm.namespace for vm in snapshot.vms})
        now, skew = await self._now()
        grid = moments_until(now, wanted)
        nodes, end = [node.name for node in snapshot.nodes], grid.at(grid.moments - 1)
        sources = await find_sources(self._prometheus, nodes, wanted.step_s, end, namespaces)
        if wanted.pods and "vm_cpu" not in sources.names:
            raise ConfigError(_NO_PODS)
        own: list[OwnVm] = []
        moved: Sequence[VirtualMachineMigration] = ()
        if sources.vms == "pods":
            own, moved = await self._own(snapshot)
            grid, told = moments_after(grid, known_from(moved))
            notes = (*notes, *told)
            if not own:
                raise ConfigError(_NO_LOADS)
        migrations: list[RecordedMigration] = []
        if not wanted.pods:  # chosen pods are no VMs
            migrations, told = await read_migrations(self._client, moved)
            notes = (*notes, *told)
        begun = Begun(
            wanted,
            encode(snapshot).decode(),
            grid,
            sources,
            (*notes, *seen.notes, *skew),
            tuple(own),
            tuple(past_moves(moved)),
            await clock_or_real_time(self._client),
            time.time_ns() % 2**32,
            tuple(migrations),
        )
        write_whole(self._directory / _BEGUN, msgspec.json.encode(begun), 0o600)
        return begun

    async def _now(self) -> tuple[float, tuple[str, ...]]:
        """The server's time, because its samples have it, and what our own clock says to that."""
        if self._prometheus is None:
            return time.time(), ()
        (sample,) = await self._prometheus.instant("time()")
        skew = sample.value - time.time()
        if abs(skew) <= SKEW_S:
            return sample.value, ()
        return sample.value, (f"Prometheus' clock is {skew:+.0f} s from this computer's",)

    async def _own(
        self, snapshot: Snapshot
    ) -> tuple[list[OwnVm], Sequence[VirtualMachineMigration]]:
        """Our VMs and their migrations.

        Pods come before migrations: of a move that ends in between, the source is known twice.
        """
        vms = await list_if_allowed(self._client, VMS)
        pods = await self._client.list(wire.PODS)
        migrations = await list_if_allowed(self._client, MIGRATIONS)
        created = {vm.metadata.key: vm.metadata.creation_timestamp for vm in vms}
        active = frozenset(vm.pod_uid for vm in snapshot.vms)
        return own_vms(pods, created, active), migrations

    async def read(self, begun: Begun, tell: Tell) -> ClusterRecording:
        """Have every piece, and make the recording of them."""
        if self._prometheus is not None:
            await self._fetch(self._prometheus, begun, tell)
        grid = begun.grid
        tables = {
            table.name: assembled(self._directory, table, grid) for table in begun.sources.tables
        }
        own: dict[str, object] = {}
        snapshot = decode(begun.snapshot)
        if begun.own:
            cpu, memory = own_loads(begun.own, grid, begun.clock)
            nodes = sorted(node.name for node in snapshot.nodes)
            own = {
                "own_keys": tuple(vm.key for vm in begun.own),
                "own_cpu": cpu,
                "own_memory": memory,
                "own_placement": own_placement(begun.own, begun.moves, nodes, grid),
            }
        return compose(
            RecordedAnswers(
                snapshot=snapshot,
                sources=begun.sources,
                grid=grid,
                tables=tables,
                notes=begun.notes,
                parameters=WHOLE_ANSWERS,
                scale=begun.clock.scale,
                migrations=begun.migrations,
                **own,  # type: ignore[arg-type]
            )
        )

    async def _fetch(self, prometheus: Prometheus, begun: Begun, tell: Tell) -> None:
        fetcher = Fetcher(prometheus, self._directory, begun.grid)
        scrape_s = begun.sources.scrape_s
        work = [
            (table, piece)
            for table in begun.sources.tables
            for piece in pieces_of(table, begun.grid, scrape_s)
        ]
        started, asked = time.monotonic(), 0
        missing = sum(not (self._directory / piece.file).exists() for _, piece in work)
        for done, (table, piece) in enumerate(work):
            each_s = (time.monotonic() - started) / asked if asked else self._pace_s
            tell(Told(done, len(work), table.name, each_s * (missing - asked) or None))
            asked += not (self._directory / piece.file).exists()
            try:
                await fetcher.fetch(table, piece)
            except OSError as error:
                raise TrimtabError(f"{self._directory}: {error.strerror}") from error
        tell(Told(len(work), len(work), "all answers are there", 0.0))


def moments_until(now: float, wanted: Wanted) -> Grid:
    """The last so many days in steps, at whole multiples of a step."""
    moments = max(int(wanted.days * 86_400 / wanted.step_s), 1)
    if moments > MOST_MOMENTS:
        raise ConfigError(
            f"{moments:,} moments are more than {MOST_MOMENTS:,}; give a longer --step"
        )
    end = floor(now / wanted.step_s) * wanted.step_s
    return Grid(end - (moments - 1) * wanted.step_s, wanted.step_s, moments)


def moments_after(grid: Grid, since: float) -> tuple[Grid, tuple[str, ...]]:
    """The moments after `since`, and a word if that leaves some out."""
    out = min(max(ceil((since - grid.start) / grid.step_s), 0), grid.moments - 1)
    if not out:
        return grid, ()
    note = (
        f"of each VM its newest {FINISHED_KEPT} migrations are kept, and some moved more often: "
        f"the recording begins {out} moments later"
    )
    return Grid(grid.at(out), grid.step_s, grid.moments - out), (note,)


_NO_PODS = (
    "no metric tells what the pods use: container_cpu_usage_seconds_total of the kubelets is not "
    "in Prometheus; give --prometheus URL of the server that scrapes them"
)
_NO_LOADS = (
    "no source tells what VMs use: neither KubeVirt's metrics nor cAdvisor's are in Prometheus, "
    "and no pod of a VM has a load; give --prometheus URL of the server that scrapes KubeVirt"
)
