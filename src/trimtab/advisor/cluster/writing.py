"""Carrying out one item: at most one attempt, never more than was reviewed."""

from base64 import b64decode, b64encode
from contextlib import suppress

from msgspec import DecodeError, json

from trimtab.advisor.api import Ignore, Item
from trimtab.advisor.cluster.objects import ClusterObjects, takings
from trimtab.advisor.decide.situation import Applied, CarryOut, Contested, Result, WriteRefused
from trimtab.advisor.plan.ignored_fields import to_write
from trimtab.advisor.plan.rollback import RollbackRecord, releasing, restoring
from trimtab.errors import ConfigError
from trimtab.kube.apply import ApplyConflict, apply
from trimtab.kube.client import Client, find
from trimtab.kube.errors import Forbidden, Invalid, NotFound
from trimtab.kube.resources import SECRETS, Free


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
        return WriteRefused(str(error))


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


# The record of prior values, as a Secret: it may hold what was in anybody's fields.
#
# Nobody owns it: it outlives the VirtPlatformConfig that it belongs to.
_KEY = "record.json"


def secret_name(config: str) -> str:
    return f"virtplatformconfig-{config}"


class Records:
    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def read(self, config: str) -> RollbackRecord:
        secret = await find(self._client, SECRETS, secret_name(config), self._namespace)
        if secret is None:
            return RollbackRecord()
        try:
            return json.decode(b64decode(secret.data[_KEY]), type=RollbackRecord)
        except (KeyError, ValueError, DecodeError) as error:
            raise ConfigError(
                f"Secret {self._namespace}/{secret_name(config)}: not a record of ours "
                f"({error!r}); restore it from a backup, or delete it to give up the way back"
            ) from error

    async def write(self, config: str, record: RollbackRecord) -> None:
        """An empty record needs no Secret."""
        name = secret_name(config)
        if not record.priors:
            with suppress(NotFound):
                await self._client.delete(SECRETS, name, self._namespace)
            return
        body: Free = {
            "metadata": {"name": name, "namespace": self._namespace},
            "type": "advisor.kubevirt.io/rollback",
            "data": {_KEY: b64encode(json.encode(record)).decode()},
        }
        await apply(self._client, SECRETS, body, force=True)
