"""How a loop is set up: what `lab up` was told, kept in `lab.json` for the next time.

Durations are the lab's; whoever starts something divides them by the scale.
"""

from typing import Any

from msgspec import Struct, convert

from trimtab.errors import ConfigError
from trimtab.model.load.pressure_curve import DEFAULT_PRESSURE, PressureCurve
from trimtab.model.nodes_and_vms import RequestsModel
from trimtab.model.scenarios.scenario import Scenario
from trimtab.virt.precopy import DEFAULT_BANDWIDTH
from trimtab.virt.slots import MigrationLimits
from trimtab.vm.settings import Mode

STACK = "loop"
KUBEVIRT_STACK = "kubevirt"
"""The stack beside which the loop's VMs are KubeVirt's."""
INTERVAL_S, SCRAPE_S = 60.0, 15.0
SHORTEST_S = 1.0
"""What a descheduling interval may be at least, in real seconds."""

POLICY_MAP, POLICY_KEY = ("kube-descheduler", "descheduler-policy"), "policy.yaml"
RULES_MAP = ("monitoring", "trimtab-rules")
EXPORTER_TOKEN_FILE = "pki/exporter-writing.token"
"""With it one may write through the exporter; like all files of a lab it is its owner's alone."""
POLICY_FILE, RULES_FILE = "config/policy.yaml", "config/trimtab.rules.yaml"
WISHED_POLICY_FILE, WISHED_RULES_FILE = "config/wished.policy.yaml", "config/wished.rules.yaml"
SCRIPT_FILE = "config/scenario.json"
PAGE_TOKEN_FILE = "pki/page-looking.token"
"""With it one may look at the lab's page."""


class LoopSettings(Struct, frozen=True, kw_only=True):
    """One loop. Rates are bytes per second, `scenario` is a name to show."""

    scenario: str = ""
    interval_s: float = INTERVAL_S
    migration: Mode = "live"
    requests: RequestsModel = "consumption"
    bandwidth: float = DEFAULT_BANDWIDTH
    dirty_rate: float = 0.0
    parallel: int = MigrationLimits().cluster
    parallel_per_node: int = MigrationLimits().node
    pressure: PressureCurve = DEFAULT_PRESSURE
    soft_taints: bool = False
    dry_run: bool = False
    """The descheduler decides and evicts nothing: another balancer acts."""
    page: bool = True
    """Whether the lab serves its page."""

    def interval(self, scale: float) -> float:
        """Real seconds between two descheduling cycles."""
        return self.interval_s / scale


def from_lab(kept: dict[str, Any]) -> LoopSettings:
    """What an earlier `lab up` wrote down."""
    return convert(kept, LoopSettings)


def following(settings: LoopSettings, scenario: Scenario) -> LoopSettings:
    """The settings for a scenario: its name, its migration model, its requests.

    The controller knows one rate at which memory changes, so VMs share the mean of theirs.
    """
    model, rates = scenario.migration, [float(vm.dirty_rate) for vm in scenario.vms]
    return LoopSettings(
        scenario=scenario.name,
        interval_s=settings.interval_s,
        migration=model.mode,
        requests=scenario.requests,
        bandwidth=model.bandwidth,
        dirty_rate=sum(rates) / len(rates) if rates else 0.0,
        parallel=model.per_cluster,
        parallel_per_node=model.per_node_outbound,
        pressure=scenario.pressure,
        soft_taints=settings.soft_taints,
        dry_run=settings.dry_run,
        page=settings.page,
    )


def check_interval(settings: LoopSettings, scale: float) -> None:
    """Refuse an interval that leaves the descheduler no time for a cycle."""
    if settings.interval(scale) < SHORTEST_S:
        raise ConfigError(
            f"--interval {settings.interval_s:g}s at scale {scale:g} is less than "
            f"{SHORTEST_S:g} real second; use {SHORTEST_S * scale:g}s or more"
        )
