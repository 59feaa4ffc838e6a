"""One VM's way through the loop: made, evicted, marked, migrated, and seen by Prometheus.

The VM is small and is removed afterwards, whatever happened. Each step is a link; the links
after a broken one are untested.
"""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

from trimtab.errors import ConfigError
from trimtab.kube.errors import ApiError, TooManyRequests, Unavailable
from trimtab.kube.virtual_machines import VirtualMachine, VirtualMachineMigration
from trimtab.stacks.loop.connection import Loop
from trimtab.stacks.loop.settings import SCRAPE_S
from trimtab.stacks.loop.state.links import Broken, Link, holds, judge, standing_links
from trimtab.vm.decide.eviction import TRIGGERED

NAME, NAMESPACE = "lab-test", "default"
PATIENCE_S = 60.0
_CONTROLLER = "trimtab lab logs vm-controller"
_WEBHOOK = "trimtab lab logs webhook"
_KUBEVIRT = ("trimtab lab logs virt-controller", "trimtab lab logs virt-api")
_CONFIGURATION = "trimtab lab kubectl get validatingwebhookconfiguration trimtab-eviction -o yaml"


class RoundTrip:
    """The steps in their order; each begins where the one before ended."""

    def __init__(self, loop: Loop) -> None:
        self._loop, self._requests = loop, loop.requests(NAMESPACE)
        self.patience_s = PATIENCE_S
        self._source = ""

    async def links(self) -> AsyncGenerator[Link]:
        """Each link once it is known; the VM is gone when this ends."""
        broken = False
        try:
            for name, step, look_at in self._steps():
                if broken:
                    yield Link(name=name, state="untested", detail="a link before it is broken")
                    continue
                link = await judge(name, step(), look_at)
                broken = link.state == "broken"
                yield link
        finally:
            await self._clean()

    def _steps(self) -> tuple[tuple[str, Callable[[], Awaitable[str]], str], ...]:
        theirs = self._loop.world == "kubevirt"
        controller, webhook = _KUBEVIRT if theirs else (_CONTROLLER, _WEBHOOK)
        return (
            ("placement", self._place, controller),
            ("eviction", self._evict, webhook),
            ("mark", self._marked, webhook),
            ("migration", self._migrated, controller),
            ("metrics", self._measured, "trimtab lab logs exporter"),
        )

    async def _place(self) -> str:
        await self._clean()
        await self._requests.create(NAME, small_vm())

        async def runs(_: Loop) -> str:
            vm = await self._vm()
            if vm.status.phase != "Running":
                raise Broken(f"the test VM is {vm.status.phase or 'not looked at'}")
            return vm.status.node_name

        self._source = await holds(runs, self._loop, self.patience_s)
        await holds(self._books_agree, self._loop, self._scrape_s)
        return f"a test VM runs on {self._source}"

    async def _evict(self) -> str:
        """Ask as the descheduler does; only a promise of an evacuation is the right answer."""
        pod = (await self._vm()).status.pod_name
        try:
            await self._loop.api.evict(pod, NAMESPACE)
        except TooManyRequests as answer:
            if TRIGGERED not in answer.message:
                raise Broken(f"the webhook refused: {answer.message}") from answer
            return "the webhook promised an evacuation"
        except Unavailable as error:
            raise Broken(f"the API server could not ask the webhook: {error.message}") from error
        raise Broken("the pod was evicted and nobody asked the webhook", _CONFIGURATION)

    async def _marked(self) -> str:
        vm, moves = await self._vm(), await self._moves()
        if vm.status.evacuation_node_name == self._source or moves:
            return f"the VM is to leave {self._source}"
        raise Broken("an evacuation was promised, but the VM is not marked")

    async def _migrated(self) -> str:
        async def done(_: Loop) -> str:
            moves = await self._moves()
            if not any(move.status.phase == "Succeeded" for move in moves):
                newest = moves[-1].status if moves else None
                state = f"{newest.phase} {newest.reason}".strip() if newest else "not created"
                raise Broken(f"the migration is {state}")
            return (await self._vm()).status.node_name

        target = await holds(done, self._loop, self.patience_s)
        if target == self._source and self._loop.settings.migration == "live":
            raise Broken(f"the migration succeeded, but the VM is still on {target}")
        return f"the VM moved to {target}"

    async def _measured(self) -> str:
        await holds(self._books_agree, self._loop, self._scrape_s)
        return "Prometheus counts every VM where it is now"

    async def _books_agree(self, loop: Loop) -> str:
        """Prometheus and the API count the same VMs on each node."""
        vms = await loop.vms()
        real = Counter(vm.status.node_name for vm in vms if vm.status.node_name)
        seen = await loop.prometheus.by_label("node_vm_count", "node")
        for node in sorted(seen.keys() | real.keys()):
            if seen.get(node, 0) != real[node]:
                raise Broken(f"{node} has {real[node]} VMs, Prometheus says {seen.get(node, 0):g}")
        return ""

    @property
    def _scrape_s(self) -> float:
        return self.patience_s + 3 * SCRAPE_S / self._loop.spec.clock.scale

    async def _vm(self) -> VirtualMachine:
        return await self._requests.get(NAME)

    async def _moves(self) -> list[VirtualMachineMigration]:
        return await self._requests.migrations(NAME)

    async def _clean(self) -> None:
        """Remove the VM and wait until it is gone, so that the test can be repeated at once."""
        try:
            await self._requests.delete(NAME)
        except ConfigError:  # there is none
            return
        except ApiError:  # nobody answers: the links have told of it
            return

        async def gone(_: Loop) -> str:
            try:
                await self._vm()
            except ConfigError:
                return ""
            raise Broken("the test VM is still there")

        await holds(gone, self._loop, PATIENCE_S)


def small_vm() -> dict[str, object]:
    """Small enough not to change what the descheduler decides."""
    return {
        "resources": {"cpu": "100m", "memory": "128Mi"},
        "utilization": {"cpu": 0.1, "memory": 0.5},
    }


async def all_links(loop: Loop) -> AsyncIterator[Link]:
    """Every link of the loop, first those that can be seen, then those of the experiment."""
    async for link in standing_links(loop):
        yield link
    async for link in RoundTrip(loop).links():
        yield link
