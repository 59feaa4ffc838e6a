"""Leader election on a Lease, compatible with client-go: same object, same rules, same times.

The leader renews every `retry_s`. If it has not managed to for `renew_within_s` it stops acting,
which is before `duration_s`, when others may take over. Expiry is judged by how long *we* have
seen the lease unchanged, never by comparing clocks of two machines. A process that was frozen
does not know that time has passed, so its writes ask `check` first (`Client.guarded`).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from trimtab import errors
from trimtab.kube.client import Client
from trimtab.kube.errors import ApiError, Conflict, NotFound
from trimtab.kube.resources import LEASES, Lease, micro_time
from trimtab.kube.runtime.backoff import Randomness, randomness
from trimtab.obs import get_logger
from trimtab.obs.metrics import counter, gauge

log = get_logger()
leader = gauge("trimtab_leader", "1 while this process leads", "lease")
attempts = counter(
    "trimtab_lease_attempts_total", "Attempts to take or keep it", "lease", "outcome"
)

RELEASE_WITHIN_S = 5.0
"""A busy API server answers in this time, and whoever stops a service waits longer."""


class Terms(Struct, frozen=True):
    """client-go's defaults; `duration_s` > `renew_within_s` > `retry_s`."""

    duration_s: float = 15.0
    renew_within_s: float = 10.0
    retry_s: float = 2.0


class NotLeading(errors.Conflict):
    """A write by a process that no longer leads, or does not know whether it does."""


class Elector:
    """One candidate for one lease; `identity` must be unique among the candidates."""

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str,
        identity: str,
        *,
        terms: Terms | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        random: Randomness | None = None,
    ) -> None:
        self.name = name
        self.identity = identity
        self._client = client
        self._namespace = namespace
        self._terms = terms or Terms()
        self._clock = clock  # not the loop's: uvloop's stands still within a turn of the loop
        self._now = now
        self._random = random or randomness()
        self._seen = Lease()
        self._seen_at = 0.0
        self._leads_until = float("-inf")

    @property
    def leading(self) -> bool:
        return self._clock() < self._leads_until

    def check(self) -> None:
        """Raise NotLeading unless the lease is certainly ours at this moment."""
        if not self.leading:
            raise NotLeading(f'lease "{self.name}": {self.identity} does not hold it; not written')

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Run `lead` whenever we hold the lease; until it comes to its end, or cancelled."""
        ended = False
        while not ended:
            await self._campaign()
            log.info("leadership gained", lease=self.name, identity=self.identity)
            leader.labels(self.name).set(1)
            try:
                ended = await self._hold(lead)
            finally:
                leader.labels(self.name).set(0)
                log.info("leadership ended", lease=self.name, identity=self.identity)

    async def _campaign(self) -> None:
        while True:
            if await self._attempt(self._terms.renew_within_s):
                return
            await asyncio.sleep(self._terms.retry_s * (1 + self._random()))

    async def _hold(self, lead: Callable[[], Awaitable[None]]) -> bool:
        """Lead and renew; true if `lead` ended by itself, false if the lease was lost."""
        acting = asyncio.ensure_future(lead())
        try:
            while self.leading and not acting.done():
                await asyncio.wait({acting}, timeout=self._pause_s())
                if self.leading and not acting.done():
                    await self._attempt(self._leads_until - self._clock())
        finally:
            acting.cancel()
            await asyncio.wait({acting})
            await self._release()
        if acting.cancelled():
            return False
        await acting  # raises what it raised
        return True

    def _pause_s(self) -> float:
        """Until the next renewal, but never past the moment when we must stop."""
        left_s = self._leads_until - self._clock()
        return max(0.0, min(self._terms.retry_s, left_s))

    async def _attempt(self, limit_s: float) -> bool:
        """Try once to take or keep the lease; false if another has it or no answer comes."""
        try:
            async with asyncio.timeout(limit_s):
                taken = await self._take()
        except (ApiError, TimeoutError) as error:
            log.debug("lease not reached", lease=self.name, error=str(error) or "timed out")
            attempts.labels(self.name, "failed").inc()
            return False
        attempts.labels(self.name, "held" if taken else "refused").inc()
        return taken

    async def _take(self) -> bool:
        """Write ourselves into the lease if it is ours or free. Raises if someone was quicker."""
        if not self.leading:
            await self._look()
        started = self._clock()
        if not self._is_free(started):
            return False
        try:
            self._notice(await self._write(self._claim()))
        except (Conflict, NotFound):  # someone wrote to it, perhaps a label only: who holds it?
            await self._look()
            if not self._is_free(started):
                self._leads_until = float("-inf")
            raise
        self._leads_until = started + self._terms.renew_within_s
        return True

    async def _look(self) -> None:
        try:
            self._notice(await self._client.get(LEASES, self.name, self._namespace))
        except NotFound:
            self._notice(Lease())

    def _notice(self, lease: Lease) -> None:
        if lease.metadata.resource_version != self._seen.metadata.resource_version:
            self._seen_at = self._clock()
        self._seen = lease

    def _is_free(self, at: float) -> bool:
        spec = self._seen.spec
        expired = at >= self._seen_at + (spec.lease_duration_seconds or 0)
        return not spec.holder_identity or spec.holder_identity == self.identity or expired

    def _claim(self) -> dict[str, Any]:
        spec, now = self._seen.spec, micro_time(self._now())
        claim = {"leaseDurationSeconds": max(1, round(self._terms.duration_s)), "renewTime": now}
        if spec.holder_identity == self.identity:
            return claim
        exists = bool(self._seen.metadata.resource_version)
        return claim | {
            "holderIdentity": self.identity,
            "acquireTime": now,
            "leaseTransitions": (spec.lease_transitions or 0) + 1 if exists else 0,
        }

    async def _write(self, spec: dict[str, Any]) -> Lease:
        version = self._seen.metadata.resource_version
        if not version:
            new = {"metadata": {"name": self.name}, "spec": spec}
            return await self._client.create(LEASES, new, self._namespace)
        patch = {"metadata": {"resourceVersion": version}, "spec": spec}
        return await self._client.patch(LEASES, self.name, patch, self._namespace)

    async def _release(self) -> None:
        """Let the next one in at once instead of after `duration_s`."""
        if not self.leading:
            return
        self._leads_until = float("-inf")
        try:
            async with asyncio.timeout(RELEASE_WITHIN_S):
                await self._give_up()
        except (ApiError, TimeoutError) as error:
            log.warning("lease not released", lease=self.name, error=str(error) or "timed out")

    async def _give_up(self) -> None:
        now = micro_time(self._now())
        nobody = {"holderIdentity": "", "leaseDurationSeconds": 1}
        nobody |= {"renewTime": now, "acquireTime": now}
        try:
            await self._write(nobody)
        except Conflict:  # perhaps our own last renewal, cancelled before its answer came
            await self._look()
            if self._seen.spec.holder_identity == self.identity:
                await self._write(nobody)
