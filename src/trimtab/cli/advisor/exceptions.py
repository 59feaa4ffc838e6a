"""`trimtab advisor ignore` and `accept`: what plans leave to others, and drift that may stay."""

from typing import Annotated

from cyclopts import Parameter

from trimtab.advisor.api import Ignore, VirtPlatformConfig
from trimtab.advisor.cluster.requests import PlanRequests
from trimtab.advisor.guidance import exit_code
from trimtab.cli.advisor.where import DEFAULT, HERE, AdvisorOptions, talk
from trimtab.cli.common.examples import examples
from trimtab.cli.common.output import Json, emit
from trimtab.errors import TrimtabError
from trimtab.view.advisor import as_json, show_config

IGNORE_EXAMPLES = examples(
    "trimtab advisor ignore --field spec.mode",
    "trimtab advisor ignore virt-higher-density --manager argocd-controller",
    "trimtab advisor ignore --field spec.mode --remove",
)
ACCEPT_EXAMPLES = examples(
    "trimtab advisor accept",
    "trimtab advisor accept --field spec.mode",
    "trimtab advisor accept --field spec.mode --remove",
)
Remove = Annotated[bool, Parameter(negative=())]


def ignore(
    profile: str = DEFAULT,
    /,
    *,
    field: str = "",
    manager: str = "",
    item: str = "",
    remove: Remove = False,
    json: Json = False,
    where: AdvisorOptions = HERE,
) -> int:
    """Leave a field, or whatever a manager writes, to others: plans neither write nor compare it.

    It is stored in spec.ignore and shown in every plan, diff and status until it is removed.

    Parameters
    ----------
    profile
        Which profile.
    field
        Path of a field, as the plan's managed fields are written.
    manager
        A field manager, as kubectl get --show-managed-fields names it.
    item
        Only in this item of the plan.
    remove
        Take the field or the manager back into plans.
    """
    if bool(field) == bool(manager):
        raise TrimtabError("give either --field or --manager")
    rule = Ignore(field=field, manager=manager, item=item)
    config = talk(where, lambda requests: requests.ignore(profile, rule, remove=remove))
    return _shown(config, json)


def accept(
    profile: str = DEFAULT,
    /,
    *,
    field: tuple[str, ...] = (),
    remove: Remove = False,
    json: Json = False,
    where: AdvisorOptions = HERE,
) -> int:
    """Accept drift: the values that fields have now may stay, until they change again.

    It is stored in spec.accepted and shown in every plan, diff and status until it is removed.
    Nothing is written to the cluster.

    Parameters
    ----------
    profile
        Which profile.
    field
        Only this field, as the status names it; may be repeated.
    remove
        Accept them no longer: the plan sets them again.
    """

    async def ask(requests: PlanRequests) -> VirtPlatformConfig:
        return await (requests.no_longer_accept if remove else requests.accept)(profile, field)

    return _shown(talk(where, ask), json)


def _shown(config: VirtPlatformConfig, json: bool) -> int:
    emit(config, json, show_config, as_json(config))
    return exit_code(config, pending=False)
