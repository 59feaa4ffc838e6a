"""What an operator can choose, and its defaults; each field is an option of `trimtab run qos`."""

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct, field

from trimtab.errors import ConfigError
from trimtab.kube.http.callers import API_SERVER
from trimtab.kube.runtime.options import INTERNAL, Option, Port, Seconds
from trimtab.model.names import SYSTEM_NAMESPACE
from trimtab.qos.promise import PromiseLimits, Slo, parse_slo, spelled

NAME = "qos"
NAMESPACE = SYSTEM_NAMESPACE
WEBHOOK_PATH = "/stamp"
DEFAULT_SLO = 0.80
DEFAULT_BINDINGS = "http://127.0.0.1:10001/bindings"


def _classes(texts: Iterable[str], option: str) -> dict[str, float]:
    return dict(_class(text, option) for text in texts)


def _class(text: str, option: str) -> tuple[str, float]:
    name, equals, slo = text.partition("=")
    if not name or not equals:
        raise ConfigError(f"{option} {text}: write it like high-priority=0.99")
    return name, parse_slo(slo, f"{option} {name}")


def _class_texts(classes: Mapping[str, float]) -> tuple[str, ...]:
    return tuple(f"{name}={spelled(slo)}" for name, slo in classes.items())


ClassSlo = Annotated[dict[str, float], Option(parse=_classes, write=_class_texts, several=True)]


class QosSettings(Struct, frozen=True, kw_only=True):
    """Everything about the service but the cluster that it works for."""

    address: Annotated[str, Option(names=("--address", "--host"))] = "127.0.0.1"
    """Where the page listens; elsewhere than on this computer it wants a token."""
    port: Port = 10000
    """The page's port; 0 takes a free one."""
    webhook_address: str = ""
    """Where the webhook listens, if not where the page does."""
    webhook_port: Port = 9444
    """The port of the webhook that stamps pods when they are created."""
    certificate: Annotated[Path | None, Option(names=("--certificate", "--tls-cert"))] = None
    """PEM file with the webhook's certificate; without one pods are stamped a moment later."""
    key: Annotated[Path | None, Option(names=("--key", "--tls-key"))] = None
    """PEM file with its key."""
    client_ca: Path | None = None
    """PEM file of the CA that signed the API server's certificate for webhooks."""
    client_name: str = API_SERVER
    """The common name in that certificate."""
    bindings: str = DEFAULT_BINDINGS
    """Where the scheduler's plugin lists its bindings; an empty text if there is no plugin."""
    default_slo: Slo = DEFAULT_SLO
    """The availability promised to whoever declares none."""
    class_slo: ClassSlo = field(default_factory=dict)
    """NAME=SLO: what a PriorityClass promises; may be repeated."""
    safety_margin_s: Seconds = 30.0
    """Whoever would miss its SLO within this time is urgent."""
    vm_margin_s: Seconds = 300.0
    """The same for VMs."""
    half_life_s: Seconds = 0.0
    """Running and waiting count half after this time; 0: they count for ever."""
    running_when: Literal["bound", "ready"] = "bound"
    """A pod runs once it is bound, or only while it is ready; unready time is charged as
    waiting."""
    charge_binding: bool = False
    """Charge binding as waiting."""
    max_wait_s: Seconds = 0.0
    """A pod that waited longer goes before all that are not urgent; 0: four margins, at least ten
    minutes."""
    max_debt_s: Seconds = 3600.0
    """How much of what its controller owes counts for a new pod's place in the queue."""
    scheduler_names: Annotated[
        tuple[str, ...], Option(names=("--scheduler-name",), write=tuple, several=True)
    ] = ("default-scheduler",)
    """Pods of these schedulers are stamped; may be repeated."""
    limits: PromiseLimits = PromiseLimits()
    """Who may promise how much."""
    legacy: bool = False
    """Read the bare annotations `slo` and `controller`; all others share one row without a
    name."""
    measure_only: bool = False
    """Keep accounts and serve the page, but stamp nothing."""
    excluded: Annotated[tuple[str, ...], INTERNAL] = ("kube-system", NAMESPACE)
    checkpoint_s: Annotated[float, INTERNAL] = 60.0
    series: Annotated[int, Option(least=0, most=100_000)] = 500
    """Accounts that have metrics of their own; classes always have."""

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise ConfigError("--certificate and --key belong together; give both or neither")

    @property
    def ageing_s(self) -> float:
        return self.max_wait_s or max(600.0, 4 * self.safety_margin_s)

    @property
    def exposed(self) -> bool:
        """Whether others than this computer can reach the page."""
        try:
            return not ip_address(self.address).is_loopback
        except ValueError:
            return self.address != "localhost"
