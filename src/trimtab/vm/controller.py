"""The vm-controller: stores in, one decision, one write, again.

The key is always the VM. Changes of its pods and migrations lead to it, so everything that
is written about one VM is written by one worker at a time.
"""

import time
from collections import Counter
from datetime import UTC, datetime
from functools import partial

from msgspec import structs

from trimtab.kube.client import Client
from trimtab.kube.events import EventRecorder
from trimtab.kube.http.web import Web
from trimtab.kube.resources import Key
from trimtab.kube.runtime.controller import After, Controller, Outcome
from trimtab.kube.runtime.lease import Elector
from trimtab.kube.runtime.service import Service, unique_identity
from trimtab.kube.worlds import refuse_beside, watch_for
from trimtab.model.names import SYSTEM_NAMESPACE
from trimtab.obs import get_logger
from trimtab.vm import metrics
from trimtab.vm.decide.lifecycle import next_step
from trimtab.vm.decide.situation import VmSituation
from trimtab.vm.decide.steps import DecideAgain, Lose, Start, Step
from trimtab.vm.executor import Executor
from trimtab.vm.leader_state import LeaderState
from trimtab.vm.own_writes import PATIENCE_S, OwnWrites
from trimtab.vm.settings import VmControllerSettings
from trimtab.vm.stores import Objects, Stores, keys_of_migration, keys_of_pod

log = get_logger()
NAME = "vm-controller"
WORKERS = 8
NO_SLOT_S = 5.0


class VmController(Controller):
    """Reconciles VMs; its `stores` are the reflectors that must run beside it."""

    def __init__(
        self,
        client: Client,
        recorder: EventRecorder,
        settings: VmControllerSettings,
        *,
        reading: Client,
    ) -> None:
        """`client` writes, only while it leads; `reading` always may."""
        super().__init__("vm", self.reconcile, workers=WORKERS)
        self.stores = Stores(reading)
        self.follow(self.stores.vms).follow(self.stores.pods, keys_of_pod)
        self.follow(self.stores.migrations, keys_of_migration)
        self.follow(self.stores.clocks, lambda _: self.stores.vms.store.keys())
        self._settings = settings
        self._own = OwnWrites(self.stores.looks(), time.time)
        self._executor = Executor(client, recorder, self._own)
        self._memory = self._new_memory()
        vms = self.stores.vms.store
        metrics.watch_phases(lambda: Counter(vm.status.phase for vm in vms))
        metrics.running.set_function(lambda: len(self._memory.slots.running()))

    def _new_memory(self) -> LeaderState:
        return LeaderState(self._settings, self.stores.migrating, self.queue.add)

    async def run(self) -> None:
        """Work while this process leads; what it knew when it last did may be outdated."""
        self._memory = self._new_memory()
        await super().run()

    async def reconcile(self, key: Key) -> Outcome:
        """One decision about one VM, and what follows from it."""
        self._memory.slots.leave_queue(key)
        unseen_s = self._own.unseen_s(key)
        if unseen_s is not None and unseen_s < PATIENCE_S:
            return After(PATIENCE_S - unseen_s)
        if unseen_s is not None:
            log.warning("stores lag behind", seconds=round(unseen_s, 1))
            self._own.forget(key)
        s = self._look(key) if unseen_s is None else await self._check(key)
        self._memory.tidy(s)
        step = next_step(s)
        if isinstance(step, DecideAgain):
            log.debug("checking", why=step.why)
            s = await self._check(key)
            step = next_step(s)
        return await self._carry_out(s, step)

    def _look(self, key: Key) -> VmSituation:
        return self._situation(key, self.stores.seen(key), checked=False)

    async def _check(self, key: Key) -> VmSituation:
        return self._situation(key, await self.stores.fresh(key), checked=True)

    def _situation(self, key: Key, objects: Objects, *, checked: bool) -> VmSituation:
        s = VmSituation(
            key=key,
            now=datetime.now(UTC),
            vm=objects.vm,
            pods=objects.pods,
            migrations=objects.migrations,
            clock=self.stores.clock(),
            settings=self._settings,
            losses=self._memory.losses(key),
            checked=checked,
        )
        return structs.replace(s, precopy=self._memory.precopy(s))

    async def _carry_out(self, s: VmSituation, step: Step) -> Outcome:
        if isinstance(step, Start) and not self._memory.take_slot(s, step):
            return After(NO_SLOT_S)
        try:
            outcome = await self._executor.do(s, step)
        except BaseException:
            if isinstance(step, Start):
                self._memory.slots.release(s.key)
            raise
        if isinstance(step, Lose):
            self._memory.count_loss(s)
        return outcome


async def serve(client: Client, settings: VmControllerSettings, *, host: str, port: int) -> None:
    """Run the controller until SIGTERM: two replicas may run, one of them acts."""
    await refuse_beside(client, "kubevirt")
    identity = unique_identity()
    elector = Elector(client, NAME, SYSTEM_NAMESPACE, identity)
    recorder = EventRecorder(client, f"trimtab.dev/{NAME}", identity)
    writing = client.guarded(elector.check)
    controller = VmController(writing, recorder, settings, reading=client)
    web = Web(host=host, port=port)
    await Service(
        NAME,
        reflectors=controller.stores.reflectors,
        controllers=[controller],
        jobs=[partial(watch_for, client, "kubevirt")],
        elector=elector,
        recorder=recorder,
        web=web,
    ).run()
