"""One scenario in one world: every step at its moment, then what became of each VM."""

import asyncio
import time
from collections.abc import Callable

from conformance.kubevirt.course import Course, Fate, Move, backoffs, most_leaving, overtakings
from conformance.kubevirt.scenario import ON_NODES, Machine, Moment, Scenario, Step
from conformance.kubevirt.world import COPY_S, Place, World, answered, now
from trimtab.kube.resources import Key

LOOK_S = 0.05
CALM_S = 1.0
"""So long nothing must move before all is called settled: a write may be on its way to us."""
PATIENCE_S = 150.0
START_S = 240.0
LATEST_S = COPY_S - 3.0
"""So long after the copy began a step that belongs to it may be done; times are whole seconds."""
HOPELESS_S = 6.0
"""A phase that has not come so long after all was settled does not come any more."""


class NotStarted(AssertionError):
    """The VMs of a scenario do not run: nothing was compared."""


class TooLate(Exception):
    """The copy that a step was meant for was over, or nearly: play it again."""


async def play(world: World, scenario: Scenario, place: Place) -> Course:
    """The scenario's course; the place is empty before and after."""
    return await _Player(world, scenario, place).play()


class _Player:
    def __init__(self, world: World, scenario: Scenario, place: Place) -> None:
        self._world, self._scenario, self._place = world, scenario, place
        self._vms = [place.vm(number) for number in range(len(scenario.machines))]

    async def play(self) -> Course:
        await self._begin()
        answers, missed = [], []
        for number, step in enumerate(self._scenario.steps):
            if not await self._await_moment(step.when):
                missed.append(number)
            began = self._copy_began(step.when)
            answers.append(await self._do_and_see(step))
            if began is not None and time.time() - began > LATEST_S:
                raise TooLate(f"{self._world.name}: {self._scenario.name}: {step} came too late")
        settled = await self._await_moment(Moment())
        records = [record for vm in self._vms for record in self._world.of_vm(vm)]
        most = most_leaving(records)
        course = Course(
            answers=tuple(answers),
            missed=tuple(missed),
            fates=tuple(self._fate(number) for number in range(len(self._vms))),
            leaving=max((count for node, count in most.items() if node), default=0),
            together=most[""],
            overtaken=overtakings(records),
            settled=settled,
        )
        await self._end()
        return course

    def _copy_began(self, moment: Moment) -> float | None:
        if moment.kind != "copying":
            return None
        began = self._world.copy_began(self._vms[moment.vm])
        return None if began is None else began.timestamp()

    async def _begin(self) -> None:
        world, nodes = self._world, self._place.nodes
        await self._end()  # a run that was interrupted may have left something
        for unused in nodes[self._scenario.nodes :]:
            await world.cordon(unused, closed=True)
        for vm, machine in zip(self._vms, self._scenario.machines, strict=True):
            await self._create(vm, machine, nodes[machine.node])
        if not await _until(self._all_run, START_S):
            raise NotStarted(f"{world.name}: {self._scenario.name} does not start")
        for vm in self._vms:
            await world.release(vm)
        if not await _until(self._all_settled, START_S, calm_s=CALM_S):
            raise NotStarted(f"{world.name}: {self._scenario.name} does not settle")

    async def _create(self, vm: Key, machine: Machine, node: str) -> None:
        answer = await answered(lambda: self._world.create(vm, machine, node))
        if not answer.startswith(("done", "409")):  # 409: an earlier try got through
            raise NotStarted(f"{self._world.name}: {self._scenario.name}: {answer}")

    async def _end(self) -> None:
        world = self._world
        for node in self._place.nodes:
            await world.cordon(node, closed=False)
            await world.lose(node, lost=False)
        await world.clear(self._place.namespace)
        if not await _until(self._is_empty, START_S):
            raise NotStarted(f"{world.name}: {self._scenario.name} leaves something behind")
        world.forget(self._place.namespace)

    def _all_run(self) -> bool:
        sights = map(self._world.sight, self._vms)
        return all(sight is not None and sight.running for sight in sights)

    def _all_settled(self) -> bool:
        return all(self._world.is_settled(vm) for vm in self._vms)

    def _is_empty(self) -> bool:
        world = self._world
        return not any(
            world.sight(vm) or world.launchers(vm) or world.has_migrations(vm) for vm in self._vms
        )

    async def _await_moment(self, moment: Moment) -> bool:
        vm, world = self._vms[moment.vm], self._world
        match moment.kind:
            case "now":
                return True
            case "settled":
                return await _until(self._all_settled, PATIENCE_S, calm_s=CALM_S)
            case "failed":
                return await _until(
                    lambda: sum(r.last == "Failed" for r in world.of_vm(vm)) >= moment.count,
                    PATIENCE_S,
                    unless=self._all_settled,
                )
        phase = "Copying" if moment.kind == "copying" else "Scheduling"

        def reached() -> bool:
            return any(record.last == phase for record in world.of_vm(vm))

        return await _until(
            lambda: reached() and bool(world.target_pod(vm)), PATIENCE_S, unless=self._all_settled
        )

    async def _do_and_see(self, step: Step) -> str:
        """A step is done when our watches show it: on a busy computer they are seconds late."""
        if step.deed in ON_NODES:
            return await self._do(step)
        world, vm = self._world, self._vms[step.on]
        known, pods = len(world.of_vm(vm)), {pod.metadata.uid for pod in world.launchers(vm)}
        answer = await self._do(step)

        def seen() -> bool:
            sight = world.sight(vm)
            match step.deed:
                case "migrate":
                    return len(world.of_vm(vm)) > known
                case "delete":
                    return sight is None or sight.going
                case "start" | "stop":
                    return sight is not None and sight.wanted == (step.deed == "start")
                case "evict" | "evict-target" | "kill-pod" | "kill-target":
                    return not pods <= {pod.metadata.uid for pod in world.launchers(vm)}
            return True

        if answer == "done":
            await _until(seen, PATIENCE_S)
        elif answer == "429 marked":
            await _until(lambda: _marked(world, vm) or len(world.of_vm(vm)) > known, PATIENCE_S)
        return answer

    async def _do(self, step: Step) -> str:
        world, nodes = self._world, self._place.nodes
        match step.deed:
            case "cordon" | "uncordon":
                return await answered(
                    lambda: world.cordon(nodes[step.on], closed=step.deed == "cordon")
                )
            case "lose" | "revive":
                return await answered(lambda: world.lose(nodes[step.on], lost=step.deed == "lose"))
            case "drain":
                return await self._drain(nodes[step.on])
        vm = self._vms[step.on]
        match step.deed:
            case "evict" | "evict-target":
                return await world.evict(vm, target=step.deed == "evict-target")
            case "kill-pod" | "kill-target":
                return await world.kill(vm, target=step.deed == "kill-target")
            case "migrate":
                return await answered(
                    lambda: world.migrate(vm, nodes[step.to] if step.to is not None else "")
                )
            case "cancel":
                return await answered(lambda: world.cancel(vm))
            case "delete":
                self._take_back(vm)
                return await answered(lambda: world.delete(vm))
            case "stop":
                self._take_back(vm)
        return await answered(lambda: world.run(vm, wanted=step.deed == "start"))

    def _take_back(self, vm: Key) -> None:
        """Whoever deletes or stops a VM takes its migrations back, and with them their slots."""
        for record in self._world.of_vm(vm):
            if record.is_unfinished:
                record.asked_to_end, record.left = True, now()

    async def _drain(self, node: str) -> str:
        await self._world.cordon(node, closed=True)
        answers = []
        for vm in self._vms:
            sight = self._world.sight(vm)
            if sight is not None and sight.node == node:
                answers.append(await self._world.evict(vm))
        return ", ".join(answers)

    def _fate(self, number: int) -> Fate:
        world, vm = self._world, self._vms[number]
        sight, life, records = world.sight(vm), world.lives.get(vm), world.of_vm(vm)
        end = "gone" if sight is None else "stopped" if not sight.wanted else "running"
        if sight is not None and sight.wanted and not sight.running:
            end = "waiting"
        nodes = self._place.nodes
        return Fate(
            moves=tuple(Move(record.cause, record.told()) for record in records),
            backoff=backoffs(records),
            lives=len(life.starts) if life else 0,
            end=end,
            moved=life.moved if life else 0,
            at=nodes.index(sight.node) if sight is not None and sight.node in nodes else -1,
            kept=world.kept(vm),
        )


def _marked(world: World, vm: Key) -> bool:
    sight = world.sight(vm)
    return sight is not None and sight.marked


async def _until(
    holds: Callable[[], bool],
    limit_s: float,
    *,
    calm_s: float = 0.0,
    unless: Callable[[], bool] | None = None,
) -> bool:
    """Wait until it holds, for `calm_s` without a break; False if that does not come.

    While `unless` holds, the wait is given up after `HOPELESS_S`.
    """
    loop = asyncio.get_running_loop()
    began = since = loop.time()
    hopeless_since = began
    while loop.time() - began < limit_s:
        if not holds():
            since = loop.time()
        elif loop.time() - since >= calm_s:
            return True
        if unless is None or not unless():
            hopeless_since = loop.time()
        elif loop.time() - hopeless_since > HOPELESS_S:
            return False
        await asyncio.sleep(LOOK_S)
    return False
