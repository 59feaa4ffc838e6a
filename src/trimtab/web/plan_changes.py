"""What a viewer says to plans of other services: approve, cancel, take back.

These are the requests of `trimtab balance approve|cancel` and `trimtab advisor approve|rollback`,
made as the person who asks. An approval of the advisor names the plan that was shown, so nobody
approves what they have not seen.
"""

from typing import Literal

from msgspec import Struct

from trimtab.advisor.cluster.requests import ConfigRequests
from trimtab.balancer.requests import RebalanceRequests
from trimtab.errors import ConfigError
from trimtab.kube.client import Client
from trimtab.model.names import is_object_name
from trimtab.obs import get_logger
from trimtab.web.changes import ClientOf

log = get_logger()
PATIENCE_S = 60.0
"""The advisor's operator draws up a way back within seconds."""


class PlanChange(Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked for: `plan` is a RebalancePlan, `config` a VirtPlatformConfig."""

    kind: Literal["plan", "config"]
    action: Literal["approve", "cancel", "rollback"]
    name: str
    shown: str = ""
    """The id of the advisor's plan that the viewer saw."""


async def carry_out_plan(change: PlanChange, client_of: ClientOf) -> str:
    """Make the request; what was asked for, in words."""
    if not is_object_name(change.name):
        raise ConfigError(f"{change.name!r} is not the name of a plan")
    async with client_of() as client:
        told = await _ask(change, client)
    log.info("plan change asked for", kind=change.kind, action=change.action, plan=change.name)
    return told


async def _ask(change: PlanChange, client: Client) -> str:
    asked = (change.kind, change.action)
    if asked == ("plan", "approve"):
        await RebalanceRequests(client).approve(change.name)
        return f"{change.name} is approved; the balancer carries it out"
    if asked == ("plan", "cancel"):
        await RebalanceRequests(client).cancel(change.name)
        return f"{change.name} is being cancelled"
    requests = ConfigRequests(client, timeout_s=PATIENCE_S, say=lambda _: None)
    if asked == ("config", "approve"):
        if not change.shown:
            raise ConfigError("an approval names the plan that was shown")
        await requests.approve(change.name, change.shown)
        return f"plan {change.shown} is approved; the advisor carries it out"
    if asked == ("config", "rollback"):
        config = await requests.go_back(change.name)
        return f"the way back is plan {config.status.plan_id}; read it, then approve it"
    raise ConfigError(f"{change.action} is nothing that a {change.kind} knows")
