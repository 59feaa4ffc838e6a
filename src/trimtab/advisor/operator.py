"""The operator: read one VirtPlatformConfig, decide, do one thing, again until it can rest.

Everything is read from the API at the moment of the decision, and every status is written
only over the version that it was decided from. So neither a stale cache nor a second process
can make it do anything twice.
"""

import time
from datetime import UTC, datetime
from typing import assert_never

from msgspec import ValidationError, convert, structs, to_builtins

from trimtab.advisor import metrics
from trimtab.advisor.api import CONFIGS, FREE_CONFIGS, PlatformStatus, VirtPlatformConfig
from trimtab.advisor.cluster.objects import ClusterObjects
from trimtab.advisor.cluster.reading import ClusterReader
from trimtab.advisor.cluster.watches import Watches
from trimtab.advisor.cluster.writing import Records, carry_out
from trimtab.advisor.decide import refresh_request
from trimtab.advisor.decide.approval import asked_at
from trimtab.advisor.decide.execution import acted
from trimtab.advisor.decide.phases import next_step, wants
from trimtab.advisor.decide.situation import (
    Announcement,
    CarryOut,
    ConfigSituation,
    ReadMore,
    Step,
    StoreRecord,
    WaitForChange,
    WriteStatus,
)
from trimtab.advisor.decide.transition import become
from trimtab.advisor.plan.profile import advertisement
from trimtab.advisor.profiles.registry import built_in
from trimtab.advisor.settings import AdvisorSettings
from trimtab.kube.client import Client, find
from trimtab.kube.errors import AlreadyExists, ApiError, Invalid
from trimtab.kube.events import EventRecorder
from trimtab.kube.resources import Free, Key, ObjectMeta
from trimtab.kube.runtime.controller import After, Controller, Done, Outcome
from trimtab.kube.runtime.queue import Queue
from trimtab.kube.runtime.reflector import Reflector
from trimtab.obs import get_logger

log = get_logger()
MOST_STEPS = 60
MOST_TEXT = 1000


class Operator(Controller):
    """Reconciles VirtPlatformConfigs; `configs` and `watches` must run beside it."""

    def __init__(
        self,
        client: Client,
        recorder: EventRecorder,
        settings: AdvisorSettings,
        *,
        reading: Client | None = None,
    ) -> None:
        """`client` writes, perhaps only while it leads; `reading` always may."""
        queue: Queue[Key] = Queue(at_most_every_s=settings.spacing_s)
        super().__init__("advisor", self.reconcile, workers=2, limit_s=120, queue=queue)
        self._client = client
        self._recorder = recorder
        self._settings = settings
        self._registry = built_in()
        self._access = ClusterObjects(client, self._registry.resources())
        self._records = Records(client, settings.namespace)
        self.configs = Reflector(reading or client, FREE_CONFIGS)
        self.watches = Watches(reading or client, queue.add)
        self.follow(self.configs)
        self.begin_with(self._to_advertise)

    @property
    def advertised(self) -> bool:
        """Is every profile there to be looked at? Then writes are admitted, too."""
        return all(self.configs.store.get(key.name) is not None for key in self._to_advertise())

    def _to_advertise(self) -> list[Key]:
        if not self._settings.advertise:
            return []
        return [Key("", profile.name) for profile in self._registry if profile.advertisable]

    async def reconcile(self, key: Key) -> Outcome:
        """Step by step until there is nothing to do now."""
        access = self._access.looking()
        for _ in range(MOST_STEPS):
            raw = await find(self._client, FREE_CONFIGS, key.name)
            if raw is None:
                return await self._gone(key)
            config = await self._decoded(raw)
            if config is None:
                return Done()
            rest = await self._step(raw, config, access)
            if rest is not None:
                metrics.tell(config)
                self.watches.want(key, access.seen)
                return Done() if rest.seconds is None else After(rest.seconds)
        log.warning("no end of steps", config=key.name)
        return After(60.0)

    async def _gone(self, key: Key) -> Outcome:
        """Deleted, or never there: profiles that advertise themselves come back, ignored."""
        self.watches.want(key, ())
        metrics.forget(key.name)
        if key in self._to_advertise():
            try:
                await self._client.create(FREE_CONFIGS, advertisement(self._registry.get(key.name)))
            except AlreadyExists:
                return Done()
            log.info("profile advertised", profile=key.name)
        return Done()

    async def _decoded(self, raw: Free) -> VirtPlatformConfig | None:
        """An object that does not fit gets an error in its status; the others go on."""
        try:
            return convert(raw, VirtPlatformConfig)
        except ValidationError as error:
            blank = VirtPlatformConfig(metadata=convert(raw["metadata"], ObjectMeta))
            step = become(self._situation(blank), "Failed", f"This object cannot be read: {error}")
            told = (raw.get("status") or {}).get("conditions") or ()
            if not any(str(error) in str(each.get("message")) for each in told):
                await self._write(raw, blank, step)
            return None

    def _situation(self, config: VirtPlatformConfig) -> ConfigSituation:
        known = config.spec.profile in self._registry
        impact = self._registry.get(config.spec.profile).impact if known else ""
        now = datetime.now(UTC).replace(microsecond=0)
        return ConfigSituation(
            config=config, now=now, version=self._settings.version, impact=impact
        )

    async def _step(
        self, raw: Free, config: VirtPlatformConfig, access: ClusterObjects
    ) -> WaitForChange | None:
        """Decide once and do it; a returned `WaitForChange` ends the turn."""
        s = structs.replace(self._situation(config), asked_at=asked_at(raw))
        profile = config.spec.profile
        known = self._registry.get(profile) if profile in self._registry else None
        wanted = wants(s)
        record = await self._records.read(config.metadata.name) if wanted else s.seen.record
        reading = ClusterReader(access, known, record)
        s = structs.replace(s, seen=await reading.see(s, wanted))
        step = next_step(s)
        if isinstance(step, ReadMore):
            s = structs.replace(s, seen=await reading.see(s, (step.want,)))
            step = next_step(s)
        if isinstance(step, WaitForChange) and refresh_request.is_asked(s):
            wanted = ("plan",) if refresh_request.needs_plan(s) else ()
            step = refresh_request.answered(structs.replace(s, seen=await reading.see(s, wanted)))
        if isinstance(step, CarryOut):
            step = await self._act(s, step, access)
        return await self._do(raw, config, step)

    async def _act(self, s: ConfigSituation, step: CarryOut, access: ClusterObjects) -> Step:
        started = time.perf_counter()
        result = await carry_out(access, step, s.seen.record, s.config.spec.ignore)
        outcome = type(result).__name__.lower()
        metrics.apply_seconds.labels(outcome).observe(time.perf_counter() - started)
        log.info("item carried out", item=step.item.name, verb=step.item.verb, outcome=outcome)
        return acted(s, step.item, result)

    async def _do(self, raw: Free, config: VirtPlatformConfig, step: Step) -> WaitForChange | None:
        match step:
            case WriteStatus():
                await self._write(raw, config, step)
            case StoreRecord(record):
                await self._records.write(config.metadata.name, record)
            case WaitForChange():
                return step
            case ReadMore() | CarryOut():
                raise AssertionError(f"{step} leads to a step of this kind again")
            case _:
                assert_never(step)
        return None

    async def _write(self, raw: Free, config: VirtPlatformConfig, step: WriteStatus) -> None:
        step = await self._stored(raw, config, step)
        name, before = config.metadata.name, config.status
        metrics.writes.labels(name).inc()
        if step.status.remediation not in (None, before.remediation):
            metrics.reapplies.labels(name).inc(step.status.phase == "InProgress")
        if step.status.phase != before.phase:
            log.info("phase entered", config=name, phase=step.status.phase, was=before.phase)
        self._record_events(config, step.news)

    async def _stored(
        self, raw: Free, config: VirtPlatformConfig, step: WriteStatus
    ) -> WriteStatus:
        """What the API server takes: a plan that it refuses to store fails, and says why."""
        try:
            await self._replace(raw, step)
        except ApiError as error:
            if not is_refused(error):
                raise
            s = self._situation(config)
            text = f"The plan cannot be stored: {error}"
            step = become(s, "Failed", text[:MOST_TEXT], items=(), warnings=(), inputs={})
            await self._replace(raw, step)
        return step

    async def _replace(self, raw: Free, step: WriteStatus) -> None:
        body = raw | {"status": encoded(step.status)}
        await self._client.replace(FREE_CONFIGS, body, subresource="status")

    def _record_events(self, config: VirtPlatformConfig, news: tuple[Announcement, ...]) -> None:
        for each in news:
            self._recorder.record(
                CONFIGS.reference(config),
                each.reason,
                each.note,
                type="Warning" if each.warning else "Normal",
            )


def is_refused(error: ApiError) -> bool:
    """Whether it would be refused again: it breaks a rule, or is larger than etcd takes."""
    return isinstance(error, Invalid) or error.code == 413 or "too large" in str(error)


def encoded(status: PlatformStatus) -> Free:
    """As it is stored; what the user left out of the options stays out of their copy."""
    fields: Free = to_builtins(status)
    if fields.get("appliedOptions"):
        fields["appliedOptions"] = _without_nulls(fields["appliedOptions"])
    return fields


def _without_nulls(value: Free) -> Free:
    return {
        key: _without_nulls(inner) if isinstance(inner, dict) else inner
        for key, inner in value.items()
        if inner is not None
    }
