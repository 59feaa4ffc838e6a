"""`trimtab advisor ignore`: fields and managers that plans leave to others."""

from typing import Annotated

from cyclopts import Parameter

from trimtab.cli.advisor_where import DEFAULT, HERE, Json, Where, talk
from trimtab.cli.examples import examples
from trimtab.errors import TrimtabError

IGNORE_EXAMPLES = examples(
    "trimtab advisor ignore --field spec.mode",
    "trimtab advisor ignore virt-higher-density --manager argocd-controller",
    "trimtab advisor ignore --field spec.mode --remove",
)


def ignore(
    profile: str = DEFAULT,
    /,
    *,
    field: str = "",
    manager: str = "",
    item: str = "",
    remove: Annotated[bool, Parameter(negative=())] = False,
    json: Json = False,
    where: Where = HERE,
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
    from trimtab.advisor.api import Ignore
    from trimtab.advisor.guidance import exit_code
    from trimtab.view.advisor import as_json, show_config
    from trimtab.view.terminal import show_json

    if bool(field) == bool(manager):
        raise TrimtabError("give either --field or --manager")
    rule = Ignore(field=field, manager=manager, item=item)
    config = talk(where, lambda desk: desk.ignore(profile, rule, remove=remove))
    show_json(as_json(config)) if json else show_config(config)
    return exit_code(config, pending=False)
