"""Carrying out one item: at most one attempt, never more than was reviewed."""

from trimtab.advisor.api import Ignore, Item
from trimtab.advisor.cluster.objects import ClusterObjects, takings
from trimtab.advisor.decide.situation import Applied, CarryOut, Contested, Refused, Result
from trimtab.advisor.plan.ignored_fields import to_write
from trimtab.advisor.plan.rollback import RollbackRecord, releasing, restoring
from trimtab.errors import ConfigError
from trimtab.kube.apply import ApplyConflict
from trimtab.kube.errors import Forbidden, Invalid, NotFound


async def carry_out(
    access: ClusterObjects, step: CarryOut, record: RollbackRecord, ignore: tuple[Ignore, ...] = ()
) -> Result:
    """Raises Conflict or Unavailable where another attempt may do better."""
    try:
        match step.item.verb:
            case "apply":
                return await _apply(access, step, ignore)
            case "delete":
                return await _delete(access, step.item)
            case "restore":
                return await _restore(access, step.item, record)
    except (Invalid, Forbidden, NotFound, ConfigError) as error:
        return Refused(str(error))


async def _apply(access: ClusterObjects, step: CarryOut, ignore: tuple[Ignore, ...]) -> Result:
    item = step.item
    complete(item)
    live = await access.get(item.target_ref)
    desired = to_write(item, live, ignore)
    version = (live or {}).get("metadata", {}).get("resourceVersion", "")
    try:
        await access.apply(item.target_ref, desired, version, force=False)
    except ApplyConflict as conflict:
        takes = takings(conflict.claims)
        if not step.force and not set(takes) <= set(item.takes):
            return Contested(tuple(take for take in takes if take not in item.takes))
        await access.apply(item.target_ref, desired, version, force=True)
    return Applied()


def complete(item: Item) -> None:
    """Refuses a desired state that lacks what it needs to be applied."""
    desired = item.desired_state
    if not desired:
        raise ConfigError(f"item {item.name}: it has no desiredState; plan again")
    lacking = [name for name in ("apiVersion", "kind") if not desired.get(name)]
    if not (desired.get("metadata") or {}).get("name"):
        lacking.append("metadata.name")
    if lacking:
        raise ConfigError(f"item {item.name}: its desiredState has no {lacking[0]}; plan again")


async def _delete(access: ClusterObjects, item: Item) -> Result:
    live = await access.get(item.target_ref)
    if live is not None:
        await access.delete(item.target_ref, live)
    return Applied()


async def _restore(access: ClusterObjects, item: Item, record: RollbackRecord) -> Result:
    """Put back each field in its former owner's name, then take our name off the object."""
    live, prior = await access.get(item.target_ref), record.of(item.target_ref)
    if live is None or prior is None:
        return Applied()
    for manager, patch in restoring(prior, live).items():
        live = await access.patch_as(item.target_ref, manager, patch, live)
    entries = releasing(live)
    if entries is not None:
        await access.set_managers(item.target_ref, entries, live)
    return Applied()
