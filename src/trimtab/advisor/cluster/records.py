"""The record of prior values, as a Secret: it may hold what was in anybody's fields.

Nobody owns it: it outlives the VirtPlatformConfig that it belongs to.
"""

from base64 import b64decode, b64encode

from msgspec import DecodeError, json

from trimtab.advisor.plan.rollback import RollbackRecord
from trimtab.errors import ConfigError
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.errors import NotFound
from trimtab.kube.resources import SECRETS, Free

_KEY = "record.json"


def secret_name(config: str) -> str:
    return f"virtplatformconfig-{config}"


class Records:
    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def read(self, config: str) -> RollbackRecord:
        try:
            secret = await self._client.get(SECRETS, secret_name(config), self._namespace)
        except NotFound:
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
            await self._delete(name)
            return
        body: Free = {
            "metadata": {"name": name, "namespace": self._namespace},
            "type": "advisor.kubevirt.io/rollback",
            "data": {_KEY: b64encode(json.encode(record)).decode()},
        }
        await apply(self._client, SECRETS, body, force=True)

    async def _delete(self, name: str) -> None:
        try:
            await self._client.delete(SECRETS, name, self._namespace)
        except NotFound:
            return
