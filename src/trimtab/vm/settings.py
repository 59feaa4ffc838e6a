"""How the controller and the webhook are set up; each field is an option of `trimtab run`.

All durations below are the lab's; `kube.clock.Clock.real_s` turns them into seconds to wait.
"""

from pathlib import Path
from typing import Annotated, Literal

from trimtab.errors import ConfigError
from trimtab.kube.http.callers import API_SERVER
from trimtab.kube.runtime.options import Amount, Bytes, Listening, Option, Port
from trimtab.model.limits import MAX_AT_ONCE
from trimtab.model.nodes_and_vms import REFERENCE_CPU, REFERENCE_MEMORY, RequestsModel
from trimtab.virt.precopy import DEFAULT_BANDWIDTH
from trimtab.virt.slots import MigrationLimits

Mode = Literal["live", "recreate"]


class MigrationLimitOptions(MigrationLimits, frozen=True):
    """KubeVirt's limits as options."""

    cluster: Annotated[int, Option(names=("--parallel",), least=1, most=MAX_AT_ONCE)] = (
        MigrationLimits().cluster
    )
    """Migrations at a time in the cluster."""
    node: Annotated[int, Option(names=("--parallel-per-node",), least=1, most=MAX_AT_ONCE)] = (
        MigrationLimits().node
    )
    """Migrations at a time away from one node."""


class VmControllerSettings(Listening, frozen=True, kw_only=True):
    """The controller's options."""

    port: Port = 8085
    mode: Annotated[Mode, Option(names=("--migration",))] = "live"
    """live: the target runs before the source goes. recreate: the source goes first."""
    requests: RequestsModel = "consumption"
    """What pods ask the scheduler for: what the VM uses, or KubeVirt's vCPU/10 and all memory."""
    bandwidth: Bytes = DEFAULT_BANDWIDTH
    """Bytes per second that a node can send, and receive, for migrations."""
    dirty_rate: Bytes = 0.0
    """Bytes per second that a VM changes while its memory is copied."""
    limits: MigrationLimitOptions = MigrationLimitOptions()
    reference_cpu: Amount = REFERENCE_CPU
    """Cores of the node that the consumption annotations refer to."""
    reference_memory: Amount = REFERENCE_MEMORY
    """Memory of that node."""

    def __post_init__(self) -> None:
        if self.bandwidth <= 0 or self.dirty_rate < 0:
            raise ConfigError("--bandwidth must be above 0 and --dirty-rate not below it")
        if min(self.limits.cluster, self.limits.node) < 1:
            raise ConfigError("--parallel and --parallel-per-node must be 1 or more")
        if min(self.reference_cpu.nano, self.reference_memory.nano) <= 0:
            raise ConfigError("the reference node must have CPU and memory above 0")


class WebhookSettings(Listening, frozen=True, kw_only=True):
    """The eviction webhook's options."""

    port: Port = 9443
    certificate: Path
    """PEM file with the certificate (and those between it and the CA)."""
    key: Path
    """PEM file with its key."""
    client_ca: Path | None = None
    """PEM file of the CA that signed the API server's certificate for webhooks."""
    client_name: str = API_SERVER
    """The common name in that certificate."""
