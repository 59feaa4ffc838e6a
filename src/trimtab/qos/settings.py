"""What an operator can choose, and its defaults."""

from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from trimtab.errors import ConfigError
from trimtab.kube.http.callers import API_SERVER
from trimtab.model.names import SYSTEM_NAMESPACE
from trimtab.qos.promise.limits import Limits

NAME = "qos"
NAMESPACE = SYSTEM_NAMESPACE
WEBHOOK_PATH = "/stamp"
DEFAULT_SLO = 0.80
DEFAULT_BINDINGS = "http://127.0.0.1:10001/bindings"


class Settings(Struct, frozen=True, kw_only=True):
    """Everything about the service but the cluster that it works for."""

    address: str = "127.0.0.1"
    port: int = 10000
    webhook_address: str = ""
    """Where the webhook listens, if not where the page does."""
    webhook_port: int = 9444
    certificate: Path | None = None
    key: Path | None = None
    """Without a certificate there is no webhook: pods are stamped a moment after creation."""
    client_ca: Path | None = None
    """The CA of the API server's certificate for webhooks; without it everybody may call."""
    client_name: str = API_SERVER
    bindings: str = DEFAULT_BINDINGS
    """Where the scheduler's plugin lists its recent bindings; empty: nowhere."""
    legacy: bool = False
    measure_only: bool = False
    safety_margin_s: float = 30.0
    vm_margin_s: float = 300.0
    half_life_s: float = 0.0
    """0: an account remembers its whole life."""
    running_when: Literal["bound", "ready"] = "bound"
    """When a pod runs: once it is bound, or only while it is ready."""
    charge_binding: bool = False
    """Binding counts as waiting."""
    max_wait_s: float = 0.0
    """A pod that waited longer goes before all that are not urgent; 0: four margins, at least ten
    minutes."""
    max_debt_s: float = 3600.0
    """How much of what its controller owes counts for a new pod."""
    default_slo: float = DEFAULT_SLO
    class_slo: dict[str, float] = field(default_factory=dict)
    """SLO by PriorityClass."""
    scheduler_names: tuple[str, ...] = ("default-scheduler",)
    excluded: tuple[str, ...] = ("kube-system", NAMESPACE)
    checkpoint_s: float = 60.0
    limits: Limits = Limits()
    """Who may promise how much."""
    series: int = 500
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
