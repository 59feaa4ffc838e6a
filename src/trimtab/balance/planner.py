"""The planner: repair, relieve, level, reserve, in this order.

Each step takes the node with the most excess and the pair of VM and target that drops most
of it, less the price of the migration; every planned move counts as done for the next.
Nodes that no single move helps are tried again with exchanges and short chains. On grown
clusters of 1,000 × 16,000 this came within one per cent of the proved minimum.

Where only so many VMs may come to a node at a time, a node that is to be levelled waits for the
target that helps it most: the second best is full after a few moves and has to be levelled itself.
"""

from heapq import heapify, heappop, heappush

import numpy as np

from trimtab.balance import exact
from trimtab.balance.bounds import Bound, bound, ceilings, fewest_by_weights, greedy_cover
from trimtab.balance.chains import Chain, best_chain
from trimtab.balance.explain import Considered, why_source
from trimtab.balance.gains import coldest, gains
from trimtab.balance.goals import Budget, BudgetLeft, Goals
from trimtab.balance.plan import Alternative, Goal, LeftOver, Move, Plan
from trimtab.balance.price import MigrationCost, hardly_converges, predicted_seconds
from trimtab.balance.problem import SLACK, Exclusion, Flags, Floats, Places, Problem
from trimtab.balance.reserve import Reserve, room_making_move
from trimtab.balance.state import State

TARGETS, TARGETS_PER_RESOURCE = 64, 32
COVER_STEPS = 1_000
"""A cover that is not found by then is not worth the time: VMs alike make the search long."""


def make_plan(
    problem: Problem,
    goals: Goals | None = None,
    budget: Budget | None = None,
    cost: MigrationCost | None = None,
    *,
    with_bound: bool = True,
    sources: Flags | None = None,
) -> Plan:
    """The moves that bring the cluster to its goals, in an order that can be carried out.

    sources: (N,) nodes that are old enough a problem to be levelled; all if left out.
    """
    goals = goals or Goals()
    planner = _Planner(problem, goals, budget or Budget(), cost or MigrationCost())
    if sources is not None:
        planner.levelled = sources
    planner.run()
    proved = bound(problem, planner.ceiling) if with_bound else None
    return planner.plan(proved)


class _Planner:
    def __init__(self, problem: Problem, goals: Goals, budget: Budget, cost: MigrationCost) -> None:
        self.problem, self.goals, self.alternatives = problem, goals, budget.alternatives
        self.budget = BudgetLeft(budget, problem)
        self.state = State(problem)
        self.ceiling = ceilings(problem, goals.band)
        self.before = self.state.share.copy()
        self.seconds = predicted_seconds(problem.resident, problem.dirty_rate, cost)
        self.excluded = dict(problem.excluded) | self._too_dirty(cost)
        self.movable: Flags = problem.where >= 0
        if self.excluded:
            self.movable[list(self.excluded)] = False
        self.reserve = Reserve(self.state)
        self.moves: list[Move] = []
        self.broken: list[str] = []
        self.chains = 0
        self.preferred: dict[int, frozenset[int]] = {}
        self.cold: Places = np.zeros(0, dtype=np.intp)
        self.cold_for: Floats | None = None
        self.cold_until = 0
        self.levelled: Flags = np.ones(len(problem.nodes), dtype=np.bool_)
        self.waiting: set[int] = set()
        """Nodes whose best target takes as many VMs as it may; later they are planned anew."""

    def _too_dirty(self, cost: MigrationCost) -> dict[int, Exclusion]:
        problem = self.problem
        hard = hardly_converges(problem.resident, problem.dirty_rate, cost, self.goals.convergence)
        return {
            vm: Exclusion("hardly-converges", "it changes memory nearly as fast as it is copied")
            for vm in np.flatnonzero(hard & problem.movable).tolist()
        }

    def run(self) -> None:
        goals = self.goals
        if goals.repair:
            self._repair()
        if goals.relieve and (sources := self._suffering()).any():
            self._lower(sources, self._relief(sources), "relieve")
        if goals.level:
            self._lower(self.levelled, self.ceiling, "level")
        if goals.reserve:
            self._make_room()

    def plan(self, proved: Bound | None) -> Plan:
        return Plan(
            moves=tuple(self.moves),
            before=self.before,
            after=self.state.share,
            ceiling=self.ceiling,
            left=self._left_over(proved),
            broken=tuple(self.broken),
            excluded=self.excluded,
            bound=proved,
        )

    # Repair: VMs that are where they must not be.

    def _repair(self) -> None:
        problem, state = self.problem, self.state
        there = np.flatnonzero(problem.where >= 0)
        misplaced = ~problem.allowed[problem.kind[there], problem.where[there]]
        misplaced |= problem.emptied[problem.where[there]]
        suspects = set(there[misplaced].tolist())
        if problem.groups is not None:
            suspects |= {*problem.groups.holders, *problem.groups.repelled}
        for vm in sorted(suspects):
            text = state.breaks_rule(vm) if state.where[vm] >= 0 else None
            if text is None:
                continue
            if not self.movable[vm] or not self._repair_one(vm, text):
                self.broken.append(text)

    def _repair_one(self, vm: int, text: str) -> bool:
        source = int(self.state.where[vm])
        vms, targets = np.array([vm]), self._accepting(np.flatnonzero(self.problem.open))
        if not self.budget.may_leave(source) or not len(targets):
            return False
        fits = self.state.fits(vms, targets)[0]
        if not fits.any():
            return False
        drop, squares, _ = gains(self.state, source, vms, targets, self.ceiling)
        value = np.where(fits, drop[0] + squares[0], -np.inf)
        at = int(value.argmax())
        goal: Goal = "drain" if self.problem.emptied[source] else "repair"
        self._do(vm, int(targets[at]), goal, text, float(drop[0, at]))
        return True

    # Relieve and level: nodes above a ceiling.

    def _suffering(self) -> Flags:
        hot = (self.state.share > self.goals.overload).any(axis=0)
        return np.asarray(hot | (self.problem.pressure > self.goals.pressure))

    def _relief(self, sources: Flags) -> Floats:
        """Overloaded nodes down to the overload limit; those under pressure a tenth below now."""
        ceiling = np.full_like(self.ceiling, self.goals.overload)
        ceiling = np.maximum(ceiling, self.ceiling)
        pressed = sources & (self.problem.pressure > self.goals.pressure)
        mean = self.problem.mean()[:, None]
        lower = np.maximum(0.9 * self.state.share, mean)
        ceiling[:, pressed] = np.minimum(ceiling, lower)[:, pressed]
        return ceiling

    def _lower(self, sources: Flags, ceiling: Floats, goal: Goal) -> None:
        heap = self._hot(sources, ceiling)
        self.preferred = {}
        stuck: list[int] = []
        while heap and self.budget.moves > 0:
            node = -heappop(heap)[1]
            if self._single(node, ceiling, goal):
                self._again(heap, node, ceiling)
            elif node not in self.waiting:
                stuck.append(node)
        for node in stuck:
            while self.budget.moves > 0 and self._excess(node, ceiling) > SLACK:
                if not self._helped(node, ceiling, goal):
                    break

    def _best_cover(self, node: int, ceiling: Floats) -> frozenset[int]:
        """The fewest VMs that carry the node's excess, where taking the largest needs more."""
        vms = self._movable_on(node)
        loads = self.problem.load[:, vms] / self.problem.capacity[:, node, None]
        excess = np.maximum(self.state.share[:, node] - ceiling[:, node], 0.0)
        if (loads.sum(axis=1) < excess).any():
            return frozenset()
        if fewest_by_weights(loads, excess) == greedy_cover(loads, excess):
            return frozenset()
        found = exact.fewest(loads, excess, steps=COVER_STEPS)
        return frozenset(vms[list(found.chosen)].tolist())

    def _helped(self, node: int, ceiling: Floats, goal: Goal) -> bool:
        """A move that no target suffers from, else an exchange, else one that is better in all."""
        if self._single(node, ceiling, goal):
            return True
        if node in self.waiting:
            return False
        return self._chain(node, ceiling, goal) or self._single(node, ceiling, goal, may_rise=True)

    def _hot(self, sources: Flags, ceiling: Floats) -> list[tuple[float, int]]:
        excess = self.state.excess(ceiling)
        heap = [
            (-float(excess[n]), -n) for n in np.flatnonzero(sources & (excess > SLACK)).tolist()
        ]
        heapify(heap)
        return heap

    def _again(self, heap: list[tuple[float, int]], node: int, ceiling: Floats) -> None:
        if (excess := self._excess(node, ceiling)) > SLACK:
            heappush(heap, (-excess, -node))

    def _excess(self, node: int, ceiling: Floats) -> float:
        return float((self.state.share[:, node] - ceiling[:, node]).clip(min=0.0).sum())

    def _single(self, source: int, ceiling: Floats, goal: Goal, *, may_rise: bool = False) -> bool:
        """The best single move from a node; False if none is worth it.

        may_rise: a target may come above its own ceiling if the source loses more than that.
        """
        if not self.budget.may_leave(source):
            return False
        vms = self._movable_on(source)
        if not len(vms):
            return False
        cold = self._coldest(ceiling)
        if source not in self.preferred:
            self.preferred[source] = self._best_cover(source, ceiling)
        if preferred := [vm for vm in vms.tolist() if vm in self.preferred[source]]:
            chosen = np.array(preferred, dtype=np.intp)
            if self._take_best(source, chosen, cold, ceiling, goal, may_rise):
                return True
            if source in self.waiting:
                return False
            self.preferred[source] = frozenset()
        if self._take_best(source, vms, cold, ceiling, goal, may_rise):
            return True
        others = np.flatnonzero(self.problem.open)
        if len(others) <= len(cold) or source in self.waiting:
            return False
        return self._take_best(source, vms, others, ceiling, goal, may_rise)

    def _take_best(
        self,
        source: int,
        vms: Places,
        targets: Places,
        ceiling: Floats,
        goal: Goal,
        may_rise: bool,
    ) -> bool:
        if not len(targets):
            return False
        goals, state = self.goals, self.state
        drop, squares, rise = gains(state, source, vms, targets, ceiling)
        price = goals.price_per_s * self.seconds[vms][:, None]
        value = drop + goals.levelling_weight * squares - price
        # A node just above its ceiling has less than the margin to lose: all of it is enough.
        enough = min(goals.margin, self._excess(source, ceiling)) * (1 - SLACK)
        fits = state.fits(vms, targets) & self.reserve.keeps_room(vms, targets)
        if not may_rise:
            fits &= rise <= SLACK
        fits &= drop >= max(enough, SLACK)
        free = self.budget.accepts(targets)
        taken = np.where(fits & free, value, -np.inf)
        at, to = divmod(int(taken.argmax()), len(targets))
        if goal == "level" and not free.all():
            best = np.where(fits, drop - price, -np.inf)
            if best.max() > best[:, free].max(initial=-np.inf) + SLACK:
                self.waiting.add(source)
                return False
        if taken[at, to] == -np.inf:
            return False
        vm, target = int(vms[at]), int(targets[to])
        considered = Considered(vms, targets, value, drop, rise, self.seconds[vms])
        alternatives = considered.refused(state, (at, to), self.alternatives, goals.margin)
        why = why_source(state, goals, source, ceiling, goal)
        self._do(vm, target, goal, why, float(drop[at, to]), alternatives)
        return True

    def _chain(self, source: int, ceiling: Floats, goal: Goal) -> bool:
        """An exchange of two VMs, or a place made on the target first."""
        if not self.budget.may_leave(source):
            return False
        vms = self._movable_on(source)
        cold = self._accepting(self._coldest(ceiling))
        enough = min(self.goals.margin, self._excess(source, ceiling))
        chain = best_chain(self.state, source, vms, cold, ceiling, self.movable, enough)
        if chain is None or not self._room_for(chain):
            return False
        self.chains += 1
        why = why_source(self.state, self.goals, source, ceiling, goal)
        for vm, target, gain in chain.moves:
            self._do(vm, target, goal, why, gain, chain=self.chains)
        return True

    def _room_for(self, chain: Chain) -> bool:
        sources = (int(self.state.where[vm]) for vm, *_ in chain.moves)
        return len(chain.moves) <= self.budget.moves and all(map(self.budget.may_leave, sources))

    # Reserve: room for the VMs of a node that is lost.

    def _make_room(self) -> None:
        for need in self.reserve.unprotected():
            if self.budget.moves <= 0:
                return
            move = room_making_move(self.state, need, self.movable, self.ceiling)
            if move is not None and self.budget.may_leave(int(self.state.where[move[0]])):
                node = self.problem.nodes[need.node]
                why = f"if {node} is lost, its largest VM fits nowhere; this makes a place"
                self._do(*move, "reserve", why, 0.0)

    # What all goals share.

    def _movable_on(self, node: int) -> Places:
        vms = np.array(self.state.on_node[node], dtype=np.intp)
        return np.asarray(vms[self.movable[vms]])

    def _coldest(self, ceiling: Floats) -> Places:
        """Targets to look at first; on a large cluster they are good for several moves."""
        if len(self.moves) >= self.cold_until or self.cold_for is not ceiling:
            self.cold = coldest(self.state, ceiling, TARGETS, TARGETS_PER_RESOURCE)
            self.cold_for = ceiling
            self.cold_until = len(self.moves) + 1 + len(self.problem.nodes) // 1000
        return self.cold

    def _accepting(self, targets: Places) -> Places:
        return np.asarray(targets[self.budget.accepts(targets)])

    def _do(
        self,
        vm: int,
        target: int,
        goal: Goal,
        why: str,
        gain: float,
        alternatives: tuple[Alternative, ...] = (),
        *,
        chain: int = 0,
    ) -> None:
        source = int(self.state.where[vm])
        self.moves.append(
            Move(
                vm=vm,
                source=source,
                target=target,
                goal=goal,
                why=why,
                gain=gain,
                seconds=float(self.seconds[vm]),
                bytes=float(self.problem.resident[vm]),
                chain=chain,
                alternatives=alternatives,
            )
        )
        self.reserve.before_move(vm, target)
        self.state.move(vm, target)
        # A VM moves at most once in a plan: a second move would undo or repeat the first.
        self.movable[vm] = False
        self.budget.count(source, target)

    def _left_over(self, proved: Bound | None) -> tuple[LeftOver, ...]:
        excess = self.state.excess(self.ceiling)
        reasons = {stuck.node: stuck.text for stuck in proved.stuck} if proved else {}
        hot = np.flatnonzero(excess > SLACK)
        return tuple(
            LeftOver(node, float(excess[node]), reasons.get(node) or self._why_left(node))
            for node in hot[np.argsort(-excess[hot], kind="stable")].tolist()
        )

    def _why_left(self, node: int) -> str:
        if not len(self._movable_on(node)):
            return "none of the VMs that stay on it may move"
        if not self.budget.may_leave(node):
            return "the plan's limit on moves is reached"
        if node in self.waiting:
            return "the node that would take most of it takes another VM just now"
        return "no move and no exchange of two VMs lowers it within the rules"
