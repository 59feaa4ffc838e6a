"""What a service is: one declaration, from which everything about it is generated.

`services/` has a module per service with a value `SERVICE` of this type. Parts that need other
rooms are functions, so that `trimtab run NAME` imports that service and nothing else.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, structs

from trimtab.install.rights import Role

if TYPE_CHECKING:
    from trimtab.kube.client import Client

Manifest = dict[str, Any]
WRITES_PER_S, BURST = 200, 400  # 1,000 VMs are started in less than a minute


class Connect(Struct, frozen=True):
    """Opens a service's connection: as its ServiceAccount, or as the kubeconfig says."""

    service: str
    kubeconfig: Path | None = None

    def __call__(self) -> "Client":
        from trimtab.kube.client import Client

        options: dict[str, Any] = {
            "manager": f"trimtab-{self.service}",
            "writes_per_s": WRITES_PER_S,
            "burst": BURST,
        }
        if self.kubeconfig is None:
            return Client.in_cluster(**options)
        return Client.from_kubeconfig(self.kubeconfig, **options)


class Mount(Struct, frozen=True, kw_only=True):
    """A Secret whose keys are files under `path` in the service's container."""

    name: str
    path: str
    secret: str
    mode: int | None = None


class Deployment(Struct, frozen=True, kw_only=True):
    """How a service is installed in a cluster: a Deployment, and Services that lead to it."""

    file: str
    """Below k8s/."""
    settings: Struct
    """The options of the container's command line."""
    note: str = ""
    """What a reader of the file should know."""
    app: str = ""
    """Name of the Deployment and value of the label `app`; empty: the service's name."""
    namespace: str = "trimtab-system"
    replicas: int = 2
    memory: str = "256Mi"
    https: bool = False
    mounts: tuple[Mount, ...] = ()
    scratch: str = ""
    """So much can be written to /tmp, in memory; empty: nothing."""
    recreate: bool = False
    """The old pod ends before the new one starts."""
    disruption_budget: bool = False
    """One replica is always there, also while nodes are drained."""
    entry: int | None = None
    """The port of a Service with an address of its own; replicas are then found by a second."""
    headless: bool = True
    """The Service names each replica; False: it has an address, and Prometheus asks one pod."""
    after: Callable[[], list[Manifest]] = list
    """Objects that follow in the same file."""


class ServiceSpec(Struct, frozen=True, kw_only=True):
    """One service, as `trimtab run NAME` runs it in a lab, in a cluster and in a terminal."""

    name: str
    """Its command, its ServiceAccount, its component in a lab, its lease."""
    about: str | None
    """Its help: one sentence, then paragraphs; the docstring of the declaring module."""
    examples: tuple[str, ...] = ()
    options: type[Struct]
    """Its settings, each of which is an option; see `kube.runtime.options`. The default of
    `port` is the service's port."""
    serve: Callable[[Connect, Any], Coroutine[Any, Any, None]]
    """Runs it with these settings until SIGTERM."""
    more_ports: Mapping[str, int] = field(default_factory=dict)
    """Ports besides its own that a lab reserves, by name."""
    roles: Callable[[], tuple[Role, ...]] = tuple
    """The least that it can work with."""
    kinds: Callable[[], list[Manifest]] = list
    """The CustomResourceDefinitions that it brings."""
    admission: Callable[[], list[Manifest]] = list
    """Policies inside the API server that limit it, or that it relies on."""
    alerts: Callable[[], list[Manifest]] = list
    """Rule groups on its metrics."""
    deployment: Deployment | None = None
    """None: it runs in labs only, or as a static pod."""

    @property
    def help(self) -> str:
        return reflowed(self.about)

    @property
    def port(self) -> int:
        number: int = next(f.default for f in structs.fields(self.options) if f.name == "port")
        return number

    @property
    def ports(self) -> dict[str, int]:
        """All ports by the names that a lab knows them by."""
        return {self.name: self.port, **self.more_ports}


def ports_of(services: Iterable[ServiceSpec]) -> dict[str, int]:
    """The ports of several services, as a lab asks for them."""
    return {name: port for each in services for name, port in each.ports.items()}


def reflowed(text: str | None) -> str:
    """Each paragraph on a line of its own; the printer of the help breaks lines."""
    paragraphs = (text or "").strip().split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)
