"""The stack `balancer`: the balancer beside the loop, with its kind and its rights.

In `act` the descheduler of the loop runs with --dry-run: it decides as before and evicts
nothing, so that one balancer acts and the other can be compared with it.
"""

from typing import Any

from msgspec import Struct, convert, to_builtins

from trimtab.balancer.settings import BalancerSettings, Limits
from trimtab.balancer.wire import Mode
from trimtab.install.components import AFTER_TOKENS, component, objects
from trimtab.install.services import balancer
from trimtab.lab.components.identity import ServiceIdentity
from trimtab.lab.components.stack import Lab, Stack, StackContribution
from trimtab.virt.slots import MigrationLimits

STACK = "balancer"


class BalancerStackSettings(Struct, frozen=True, kw_only=True):
    """What `lab up` was told, kept in `lab.json` for the next time."""

    mode: Mode = "observe"
    parallel: int = MigrationLimits().cluster
    """Migrations at a time that the loop allows."""
    per_hour: float = 100.0
    """A lab is small: ten percent of its VMs would be two in an hour."""


def from_lab(kept: dict[str, Any]) -> BalancerStackSettings:
    """What an earlier `lab up` wrote down."""
    return convert(kept, BalancerStackSettings)


def balancer_stack(settings: BalancerStackSettings) -> Stack:
    """The service under its own account; it reads through the loop's Prometheus."""

    def contribute(lab: Lab) -> StackContribution:
        options = BalancerSettings(
            mode=settings.mode,
            prometheus=f"http://127.0.0.1:{lab.port('prometheus')}",
            beside_descheduler=True,  # which runs dry, see above
            limits=_limits(settings),
        )
        needs = (*AFTER_TOKENS, "prometheus", "scenario")
        return StackContribution(
            components=(component(lab, balancer.SERVICE, options, needs=needs),),
            services=(ServiceIdentity(balancer.SERVICE.name),),
            objects=tuple(objects(balancer.SERVICE)),
        )

    return Stack(
        name=STACK,
        contribute=contribute,
        ports=balancer.SERVICE.ports,
        settings=to_builtins(settings),
    )


def _limits(settings: BalancerStackSettings) -> Limits:
    kept_free = min(Limits().kept_free, settings.parallel - 1)
    return Limits(parallel=settings.parallel, kept_free=kept_free, per_hour=settings.per_hour)
