"""How the balancer is set up; each field is an option of `trimtab run balancer`.

All durations are the lab's; the service divides what it waits for by the lab's scale.
"""

from typing import Annotated

from msgspec import Struct

from trimtab.balance.goals import Goals
from trimtab.balancer.wire import Mode
from trimtab.errors import ConfigError
from trimtab.kube.runtime.options import Listening, Option, Port, Seconds
from trimtab.model.limits import MAX_AT_ONCE
from trimtab.policy.pods.migration_aware import MigrationAware
from trimtab.virt.slots import MigrationLimits

NAME = "balancer"
Points = Annotated[float, Option(least=0, most=100)]


class Limits(Struct, frozen=True, kw_only=True):
    """How much the balancer may do, and when it stops by itself."""

    parallel: Annotated[int, Option(least=1, most=MAX_AT_ONCE)] = MigrationLimits().cluster
    """Migrations at a time that the cluster allows."""
    kept_free: Annotated[int, Option(least=0, most=MAX_AT_ONCE)] = 2
    """So many of them are left to drains and to people."""
    per_hour: Annotated[float, Option(least=0, most=100)] = 10.0
    """Percent of all VMs that may be moved in an hour, at least one VM."""
    cooldown_s: Seconds = MigrationAware().cooldown_s
    """How long a VM rests after a migration; doubles with each further one."""
    longest_cooldown_s: Seconds = MigrationAware().longest_cooldown_s
    """The longest rest."""
    return_window_s: Seconds = 6 * 3600.0
    """A VM does not come back to a node that it left within this time."""
    hold: Annotated[int, Option(least=1, most=100)] = 3
    """Something must be to do in so many rounds ..."""
    hold_of: Annotated[int, Option(least=1, most=100)] = 5
    """... of the last so many before anything moves; overload does not wait."""
    stale_s: Seconds = 180.0
    """Loads older than this move nothing."""
    failures: Annotated[int, Option(least=1, most=1000)] = 3
    """After so many failed moves the balancer pauses."""
    pause_s: Seconds = 1800.0
    """How long it pauses after failures, or after gains that did not come twice."""
    expires_s: Seconds = 1800.0
    """A proposed plan that nobody approves expires after this time."""

    def __post_init__(self) -> None:
        if self.kept_free >= self.parallel:
            raise ConfigError(
                f"--kept-free {self.kept_free} leaves no migration of --parallel {self.parallel}"
            )
        if self.hold > self.hold_of:
            raise ConfigError(f"--hold {self.hold} cannot be more than --hold-of {self.hold_of}")


class BalancerSettings(Listening, frozen=True, kw_only=True):
    """The balancer's options."""

    port: Port = 8092
    mode: Mode = "observe"
    """observe: tell what it would do. propose: plans wait for approval. act: carry them out."""
    interval_s: Seconds = 15.0
    """Time between two looks at the cluster; a plan that is older is made anew."""
    band: Points = 5.0
    """A node is level up to this many points above the mean."""
    margin: Points = 0.5
    """The least gain that is worth a move, in points."""
    prometheus: str = ""
    """Prometheus that tells how old the metrics are, and KubeVirt's VMs' loads."""
    beside_descheduler: bool = False
    """Act although the descheduler's LowNodeUtilization is enabled."""
    exact_target: bool = False
    """KubeVirt's VMs: ask for the planned node by its hostname, not for a labelled set of nodes."""
    limits: Limits = Limits()

    def goals(self) -> Goals:
        return Goals(band=self.band / 100, margin=self.margin / 100)
