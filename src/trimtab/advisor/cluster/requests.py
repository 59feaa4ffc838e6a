"""What a person asks of the advisor, as requests to the API: plan, approve, go back, wait.

All of it is what kubectl could do too. Every write is made over the spec that was shown, and an
approval names its plan, so nobody approves what they have not seen.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar
from uuid import uuid4

from msgspec import structs, to_builtins

from trimtab.advisor.api import CONFIGS, FREE_CONFIGS, Accepted, Ignore, VirtPlatformConfig
from trimtab.advisor.decide.refresh_request import LOOK_AGAIN
from trimtab.advisor.guidance import MOVING, PHASES, told
from trimtab.errors import ConfigError, Conflict, NotReady
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.errors import AlreadyExists, Forbidden, NotFound, Unavailable
from trimtab.kube.resources import Free

T = TypeVar("T")
LOOK_S, SEEN_WITHIN_S = 0.2, 10.0
UNSEEN = "no operator has seen it yet; is one running? trimtab run advisor"
MANAGER = "trimtab-cli"


class ConfigRequests:
    """One cluster; `say` hears how it goes while something is awaited."""

    def __init__(
        self, client: Client, *, timeout_s: float = 600.0, say: Callable[[str], None] = print
    ) -> None:
        self._client, self._timeout_s, self._say = client, timeout_s, say

    async def all(self) -> Sequence[VirtPlatformConfig]:
        try:
            return await self._client.list(CONFIGS)
        except NotFound as error:
            raise ConfigError(
                "this cluster does not know VirtPlatformConfigs; install them: "
                "kubectl apply -k k8s/advisor, or in a lab: trimtab lab up --with advisor"
            ) from error

    async def get(self, name: str) -> VirtPlatformConfig:
        try:
            return await self._client.get(CONFIGS, name)
        except NotFound as error:
            names = ", ".join(each.metadata.name for each in await self.all()) or "none"
            raise ConfigError(
                f'no VirtPlatformConfig "{name}" (there are: {names}); '
                f"begin with: trimtab advisor plan {name}"
            ) from error

    async def plan(self, name: str) -> VirtPlatformConfig:
        """The plan as of now, or a first one; what is being applied is left alone."""
        known = {each.metadata.name: each for each in await self.all()}
        if name not in known:
            try:
                await self._admitted(lambda: self._client.create(FREE_CONFIGS, manifest(name)))
            except AlreadyExists:  # the operator advertised it in this moment
                return await self.plan(name)
        elif known[name].spec.action == "Ignore":
            await self._change(known[name], action="DryRun")
        elif known[name].status.phase in ("RolledBack", "Failed", "CompletedWithUpgrade"):
            return await self.plan_again(name)
        return await self.look(name)

    async def look(self, name: str) -> VirtPlatformConfig:
        """What the operator sees now; a person who may only read gets what it saw last."""
        config = await self.settled(name)
        request = uuid4().hex[:12]
        patch = {"metadata": {"annotations": {LOOK_AGAIN: request}}}
        try:
            await self._admitted(lambda: self._client.patch(CONFIGS, name, patch))
        except Forbidden:
            self._say(f"{name}: you may not ask for another look; this is what was seen last")
            return config
        return await self._until(name, lambda config: config.status.looked_for == request)

    async def plan_file(self, given: Free) -> VirtPlatformConfig:
        """What a manifest would change: it is stored as a preview, whatever its action says."""
        spec = {**(given.get("spec") or {}), "action": "DryRun"}
        name = str((given.get("metadata") or {}).get("name", ""))
        body = {**manifest(name), "spec": spec}
        await apply(self._client, FREE_CONFIGS, body, manager=MANAGER, force=True)
        return await self.settled(name)

    async def plan_again(self, name: str) -> VirtPlatformConfig:
        """A fresh plan of what drifted or failed."""
        config = await self.get(name)
        if config.spec.action == "DryRun":  # an edit is what asks for it
            await self._change(config, action="Ignore")
            config = await self.settled(name)
        await self._change(config, action="DryRun", approvedPlan="")
        return await self.settled(name)

    async def approve(self, name: str, plan: str = "") -> VirtPlatformConfig:
        """Say yes to the plan that waits, or only to the one named."""
        config = await self.get(name)
        status = config.status
        if status.phase != "ReviewRequired":
            guide = PHASES[status.phase].meaning if status.phase else "It was not seen yet."
            raise NotReady(f"{name}: nothing waits for approval; it is {status.phase}: {guide}")
        if plan and plan != status.plan_id:
            raise Conflict(
                f"{name}: the plan is {status.plan_id} now, not {plan}; look at it again"
            )
        action = "Rollback" if config.spec.action == "Rollback" else "Apply"
        if config.spec.approved_plan == status.plan_id:  # it was started once for that already
            config = await self._withdrawn(config)
        return await self._change(config, action=action, approvedPlan=status.plan_id)

    async def _withdrawn(self, config: VirtPlatformConfig) -> VirtPlatformConfig:
        """The same plan without an approval that was used, so that it can be given again."""
        await self._change(config, approvedPlan="")
        after = await self.settled(config.metadata.name)
        if (now := after.status.plan_id) != config.status.plan_id:
            raise Conflict(f"{config.metadata.name}: the plan is {now} now; look at it again")
        return after

    async def go_back(self, name: str) -> VirtPlatformConfig:
        """Ask for the way back; its plan waits for approval like any other."""
        config = await self.get(name)
        if config.spec.action != "Rollback":
            await self._change(config, action="Rollback", approvedPlan="")
        return await self.settled(name)

    async def ignore(self, name: str, rule: Ignore, *, remove: bool) -> VirtPlatformConfig:
        """Leave a field, or what a manager writes, to others from now on; or no longer."""
        config = await self.get(name)
        rules = changed_rules(config, rule, remove=remove)
        await self._change(config, ignore=to_builtins(rules))
        return await self.settled(name)

    async def accept(self, name: str, fields: Sequence[str]) -> VirtPlatformConfig:
        """Let drift stay as it is: these fields, or all."""
        config = await self.look(name)
        await self._change(config, accepted=to_builtins(with_accepted(config, fields)))
        return await self.settled(name)

    async def no_longer_accept(self, name: str, fields: Sequence[str]) -> VirtPlatformConfig:
        """Plan these fields again, or all."""
        config = await self.get(name)
        kept = without_accepted(config, fields)
        await self._change(config, accepted=to_builtins(kept))
        return await self.settled(name)

    async def settled(self, name: str) -> VirtPlatformConfig:
        """Wait until the operator has seen the last edit and rests."""
        return await self._until(name, lambda _: True)

    async def _until(
        self, name: str, holds: Callable[[VirtPlatformConfig], bool]
    ) -> VirtPlatformConfig:
        began = time.monotonic()
        while True:
            config = await self.get(name)
            status = config.status
            seen = status.observed_generation >= config.metadata.generation
            if seen and status.phase not in MOVING and holds(config):
                return config
            waited_s = time.monotonic() - began
            is_late = waited_s > SEEN_WITHIN_S and not seen
            self._say(f"{name}: {UNSEEN}" if is_late else progress(config))
            if waited_s > self._timeout_s:
                raise NotReady(
                    f"{name}: still {status.phase or 'not seen by the operator'} after "
                    f"{self._timeout_s:g} s; {told(config) or 'is the operator running?'}"
                )
            await asyncio.sleep(LOOK_S)

    async def changes(self, name: str) -> AsyncIterator[VirtPlatformConfig]:
        """The config, and again whenever a person would see a difference; for ever."""
        last: VirtPlatformConfig | None = None
        while True:
            config = await self.get(name)
            if differs(last, config):
                last = config
                yield config
            await asyncio.sleep(LOOK_S)

    async def _admitted(self, write: Callable[[], Awaitable[T]]) -> T:
        """Admission says 503 as long as it does not know our kind: just defined, or restarted."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                return await write()
            except Unavailable as error:
                if error.code != 503 or time.monotonic() > deadline:
                    raise
                self._say(str(error))
            await asyncio.sleep(LOOK_S)

    async def _change(self, config: VirtPlatformConfig, **spec: Any) -> VirtPlatformConfig:
        """Over the spec that was shown; the operator may write the status meanwhile."""
        meta = config.metadata
        patch = {"metadata": {"resourceVersion": meta.resource_version}, "spec": spec}
        try:
            return await self._admitted(lambda: self._client.patch(CONFIGS, meta.name, patch))
        except Conflict:
            now = await self.get(meta.name)
            if (now.metadata.uid, now.metadata.generation) != (meta.uid, meta.generation):
                raise
            return await self._change(now, **spec)


def changed_rules(config: VirtPlatformConfig, rule: Ignore, *, remove: bool) -> list[Ignore]:
    """What is ignored afterwards; refuses a rule that is about nothing."""
    rules, what = list(config.spec.ignore), rule.field or f"manager {rule.manager}"
    name = config.metadata.name
    if remove:
        if rule not in rules:
            raise ConfigError(f"{name}: {what} is not ignored; see: trimtab advisor status {name}")
        return [each for each in rules if each != rule]
    items = [i for i in config.status.items if rule.item in ("", i.name)]
    if rule.item and not items:
        names = ", ".join(i.name for i in config.status.items) or "none"
        raise ConfigError(f'{name}: there is no item "{rule.item}" in its plan; there are: {names}')
    managed = [path for item in items for path in item.managed_fields]
    if rule.field and managed and not any(_meets(rule.field, path) for path in managed):
        raise ConfigError(
            f"{name}: no item of its plan manages {rule.field}; managed are: {', '.join(managed)}"
        )
    return [*rules, *([] if rule in rules else [rule])]


def with_accepted(config: VirtPlatformConfig, fields: Sequence[str]) -> list[Accepted]:
    """What is accepted afterwards: the drift there is, in these fields or in all."""
    name = config.metadata.name
    found = [
        Accepted(item=item.name, field=each.field, value=each.value, removed=each.removed)
        for item in config.status.items
        for each in item.drift
        if not fields or each.field in fields
    ]
    lacking = [field for field in fields if field not in {each.field for each in found}]
    if lacking or not found:
        what = f"{', '.join(lacking)} has" if lacking else "it has"
        raise ConfigError(
            f"{name}: there is no drift to accept: {what} not changed, or the object is gone; "
            f"see: trimtab advisor status {name}"
        )
    new = {(each.item, each.field) for each in found}
    kept = [each for each in config.spec.accepted if (each.item, each.field) not in new]
    return [*kept, *found]


def without_accepted(config: VirtPlatformConfig, fields: Sequence[str]) -> list[Accepted]:
    known = [each.field for each in config.spec.accepted]
    lacking = [field for field in fields if field not in known]
    if lacking or not known:
        what = ", ".join(lacking) or "nothing"
        told = ", ".join(known) or "none"
        raise ConfigError(f"{config.metadata.name}: {what} is accepted; there are: {told}")
    return [each for each in config.spec.accepted if fields and each.field not in fields]


def _meets(field: str, managed: str) -> bool:
    return f"{field}.".startswith(f"{managed}.") or f"{managed}.".startswith(f"{field}.")


def manifest(name: str) -> Free:
    """A preview of a profile with its defaults."""
    return {
        "apiVersion": CONFIGS.api_version,
        "kind": CONFIGS.kind,
        "metadata": {"name": name},
        "spec": {"profile": name, "action": "DryRun"},
    }


def progress(config: VirtPlatformConfig) -> str:
    """Where it stands, in a line."""
    items = config.status.items
    busy = next((item for item in items if item.state == "InProgress"), None)
    where = f"{busy.name}: {busy.message}" if busy else told(config)
    return f"{config.status.phase or 'Pending'} {where}".strip()


def differs(old: VirtPlatformConfig | None, new: VirtPlatformConfig) -> bool:
    """Whether a person would see a difference."""
    if old is None:
        return True
    quiet = [structs.replace(each.status, conditions=()) for each in (old, new)]
    return quiet[0] != quiet[1]
