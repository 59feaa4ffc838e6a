"""Descriptions of what a lab runs: values made by pure functions, executed by the supervisor.

A `LabPlan` is a graph of two kinds of units. A component is a process that is kept alive; a task
is something done once. Either may need others by name, and starts when those are ready or
done. All of it is data in `plan.json`, so the supervisor never imports the rooms whose
services it runs.
"""

from typing import Literal

from msgspec import Struct, field

from trimtab.lab.spec import NodeSize
from trimtab.model.names import SYSTEM_NAMESPACE


class HttpsGet(Struct, frozen=True, tag=True):
    """200 over TLS with the lab's CA, and `contains` somewhere in the answer.

    The supervisor shows its certificate, unless `anonymous`: some programs refuse one of a CA
    that they do not know.
    """

    url: str
    contains: str = ""
    anonymous: bool = False


class HttpGet(Struct, frozen=True, tag=True):
    """200 over plain HTTP, and `contains` somewhere in the answer."""

    url: str
    contains: str = ""


class SocketAccepts(Struct, frozen=True, tag=True):
    """A unix socket in the lab's directory takes connections."""

    path: str


class LogLine(Struct, frozen=True, tag=True):
    """A line with `text` in the component's log, written since this process started."""

    text: str


class ApiGet(Struct, frozen=True, tag=True):
    """The API server answers 200 to a GET of `path` (the object exists)."""

    path: str


Probe = HttpsGet | HttpGet | SocketAccepts | LogLine | ApiGet


class DeleteNodeLeases(Struct, frozen=True, tag=True):
    """kwok has a new lease identity in every process, and would wait 40 s for the old ones."""


class ApplyObjects(Struct, frozen=True, tag=True):
    """Server-side apply of every object in `file`, in order; a CRD is awaited before the next.

    `digest` is of the file's text: other objects are another action. With `status`, it is
    their status that is applied.
    """

    file: str
    digest: str = ""
    status: bool = False


class CreateNodes(Struct, frozen=True, tag=True):
    """Make kwok-node-1 to kwok-node-`count` where they do not exist."""

    count: int
    size: NodeSize


class AwaitNodes(Struct, frozen=True, tag=True):
    """At least `count` nodes, all of them Ready (but those that a label keeps NotReady)."""

    count: int


class ProbePod(Struct, frozen=True, tag=True):
    """A pod is placed by the scheduler and started by kwok, then removed."""

    scheduler_name: str = "default-scheduler"


class RequestTokens(Struct, frozen=True, tag=True):
    """Write a fresh token for every service of the plan; the supervisor renews them later."""


Action = DeleteNodeLeases | ApplyObjects | CreateNodes | AwaitNodes | ProbePod | RequestTokens


class Restart(Struct, frozen=True):
    """A death before `quick_s` doubles the wait; after `give_up_after` of them no more tries."""

    first_s: float = 0.2
    longest_s: float = 10.0
    quick_s: float = 5.0
    give_up_after: int = 5


class Component(Struct, frozen=True, kw_only=True):
    """A process that the supervisor keeps alive, started in the lab's directory.

    `before` runs ahead of every start, `after` each time it has become ready. `reload` says
    what a request to reload means for it: SIGHUP, or a restart. `url` is shown to people.
    `reads` names configuration files whose ports may move; `digest` is of their texts, so that
    a component with another configuration has another description.
    """

    name: str
    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    probes: tuple[Probe, ...] = ()
    needs: tuple[str, ...] = ()
    before: tuple[Action, ...] = ()
    after: tuple[Action, ...] = ()
    restart: Restart = Restart()
    stop_within_s: float = 10.0
    reload: Literal["restart", "hup"] = "restart"
    url: str = ""
    reads: tuple[str, ...] = ()
    digest: str = ""


class SupervisorTask(Struct, frozen=True, kw_only=True):
    """Something done once in each life of the supervisor, repeated until it works."""

    name: str
    action: Action
    needs: tuple[str, ...] = ()


Unit = Component | SupervisorTask


class TokenFile(Struct, frozen=True, kw_only=True):
    """A service account's token, kept fresh in a file of mode 0600 in the lab's directory."""

    service: str
    file: str
    namespace: str = SYSTEM_NAMESPACE
    lifetime_s: int = 3600
    renew_after_s: float = 2400.0


class LabPlan(Struct, frozen=True, kw_only=True):
    """Everything that the supervisor of one lab executes. Names are unique over both kinds."""

    server: str
    components: tuple[Component, ...] = ()
    tasks: tuple[SupervisorTask, ...] = ()
    tokens: tuple[TokenFile, ...] = ()

    @property
    def units(self) -> dict[str, Unit]:
        """Components and tasks by name."""
        units: list[Unit] = [*self.components, *self.tasks]
        return {unit.name: unit for unit in units}
