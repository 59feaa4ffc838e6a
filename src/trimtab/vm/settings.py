"""How the controller is set up.

All durations below are the lab's; `kube.clock.Clock.real_s` turns them into seconds to wait.
"""

from typing import Literal

from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.model.machines import REFERENCE_CPU, REFERENCE_MEMORY, RequestsModel
from trimtab.model.quantity import Quantity

Mode = Literal["live", "recreate"]
GIB = float(1024**3)
TOLERATION_S = 300.0
"""How long a pod stays on a node that is lost: Kubernetes' own default."""
UNSCHEDULABLE_S, PENDING_S = 300.0, 900.0
"""When a migration whose target is not placed, or placed and not running, has failed."""
TIMEOUT_S_PER_GIB = 150.0


class Limits(Struct, frozen=True):
    """KubeVirt's: migrations at a time in the cluster, and away from one node."""

    cluster: int = 5
    node: int = 2


class Settings(Struct, frozen=True, kw_only=True):
    """The controller's options. Rates are bytes per second."""

    mode: Mode = "live"
    requests: RequestsModel = "consumption"
    bandwidth: float = GIB
    dirty_rate: float = 0.0
    limits: Limits = Limits()
    reference_cpu: Quantity = REFERENCE_CPU
    reference_memory: Quantity = REFERENCE_MEMORY

    def __post_init__(self) -> None:
        if self.bandwidth <= 0 or self.dirty_rate < 0:
            raise ConfigError("--bandwidth must be above 0 and --dirty-rate not below it")
        if min(self.limits.cluster, self.limits.node) < 1:
            raise ConfigError("--parallel and --parallel-per-node must be 1 or more")
        if min(self.reference_cpu.nano, self.reference_memory.nano) <= 0:
            raise ConfigError("the reference node must have CPU and memory above 0")
