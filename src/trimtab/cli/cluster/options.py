"""The options by which a command is told which cluster, Prometheus and policy are meant."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter

from trimtab.cli.cluster.which import Cluster, say, which_cluster

if TYPE_CHECKING:
    from trimtab.kube.client import Client

T = TypeVar("T")
Note = Callable[[str], None]

Kubeconfig = Annotated[
    Path | None,
    Parameter(
        show_default=False,
        help="A cluster by its kubeconfig. Without --kubeconfig, --context and --lab: $TRIMTAB_LAB,"
        " $KUBECONFIG, the lab default, ~/.kube/config, the cluster of this pod; the first that is"
        " there.",
    ),
]
Context = Annotated[
    str,
    Parameter(
        show_default=False,
        help="A context of --kubeconfig, or of $KUBECONFIG or ~/.kube/config; otherwise the "
        "current one.",
    ),
]
LabName = Annotated[str, Parameter(show_default=False, help="A lab by its name.")]

Address = Annotated[
    str,
    Parameter(
        show_default=False,
        help="Address of Prometheus; a lab's own, or the policy's, if left out.",
    ),
]
Authority = Annotated[
    Path | None,
    Parameter(
        help="A file with the certificate authority (PEM) that signed Prometheus' certificate; "
        "that of the kubeconfig and those of this computer are trusted anyway."
    ),
]
Token = Annotated[
    str,
    Parameter(
        env_var="TRIMTAB_PROMETHEUS_TOKEN",
        show_default=False,
        help="The bearer token for Prometheus; otherwise the kubeconfig's, for an https address "
        "of that cluster.",
    ),
]
TokenFile = Annotated[Path | None, Parameter(help="A file with the bearer token for Prometheus.")]


@Parameter(name="*")
@dataclass(frozen=True)
class ClusterOptions:
    """--kubeconfig, --context and --lab; groups of commands add their own by inheriting."""

    kubeconfig: Kubeconfig = None
    context: Context = ""
    lab: LabName = ""

    @property
    def names_a_cluster(self) -> bool:
        return bool(self.kubeconfig or self.context or self.lab)

    def cluster(self, *, quietly: bool = False) -> Cluster:
        """The cluster that is meant; said on stderr, because commands may change it."""
        cluster = which_cluster(self.kubeconfig, self.context, self.lab)
        return cluster if quietly else say(cluster)

    def ask(self, name: str, make: "Callable[[Client, Note], Awaitable[T]]") -> T:
        """What `make` gets from the cluster that is meant; what it waits for is on stderr."""
        import asyncio

        from trimtab.view.terminal import progress

        cluster = self.cluster()

        async def run() -> T:
            with progress(name) as steps:
                async with cluster.connect() as client:
                    return await make(client, steps.note)

        return asyncio.run(run())


@dataclass(frozen=True)
class PrometheusAccess:
    """What the options say; the address is not part of it."""

    ca: Path | None = None
    token: str = ""
    token_file: Path | None = None


@Parameter(name="*")
@dataclass(frozen=True)
class MonitoringOptions(ClusterOptions):
    """A cluster and its Prometheus."""

    prometheus: Address = ""
    prometheus_ca: Authority = None
    prometheus_token: Token = ""
    prometheus_token_file: TokenFile = None

    @property
    def access(self) -> PrometheusAccess:
        return PrometheusAccess(
            self.prometheus_ca, self.prometheus_token, self.prometheus_token_file
        )


@Parameter(name="*")
@dataclass(frozen=True)
class LookOptions(MonitoringOptions):
    """A cluster, its Prometheus and its descheduler's policy."""

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


NOWHERE = LookOptions()
