"""A plan with names instead of numbers: what commands print, files keep and programs read."""

import numpy as np
from msgspec import Struct

from trimtab.balance.bounds import Method, best_level_by_moves
from trimtab.balance.plan import Alternative, Goal, Move, Plan
from trimtab.balance.problem import Problem


class _Document(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class AlternativeDocument(_Document, frozen=True):
    """A pair that was considered and not taken; gain in points of a node."""

    vm: str
    target: str
    gain: float
    seconds: float
    rule: str
    why: str


class MoveDocument(_Document, frozen=True):
    """One migration; gain in points of a node, seconds of predicted copying."""

    vm: str
    source: str
    target: str
    goal: Goal
    why: str
    gain: float
    seconds: float
    bytes: float
    chain: int = 0
    refused: tuple[AlternativeDocument, ...] = ()


class NodeDocument(_Document, frozen=True):
    """A node before and after, in percent of its capacity."""

    name: str
    cpu_before: float
    cpu_after: float
    memory_before: float
    memory_after: float
    cpu_ceiling: float
    memory_ceiling: float
    vms_before: int
    vms_after: int
    open: bool = True


class StayingDocument(_Document, frozen=True):
    """VMs that cannot or must not move, and why."""

    vm: str
    rule: str
    why: str


class LeftDocument(_Document, frozen=True):
    """A node that stays above its ceiling; excess in points."""

    node: str
    excess: float
    why: str


class BoundDocument(_Document, frozen=True):
    """The least that any balancer needs."""

    moves: int
    bytes: float
    method: Method


class LevelDocument(_Document, frozen=True):
    """The best that any balancer reaches with so many moves: points above the mean."""

    moves: int
    points_above_mean: float


class PlanDocument(_Document, frozen=True):
    """Everything that is known of a plan."""

    moves: tuple[MoveDocument, ...]
    nodes: tuple[NodeDocument, ...]
    staying: tuple[StayingDocument, ...] = ()
    left: tuple[LeftDocument, ...] = ()
    broken: tuple[str, ...] = ()
    bound: BoundDocument | None = None
    best_level: tuple[LevelDocument, ...] = ()
    excess_before: float = 0.0
    excess_after: float = 0.0
    copy_seconds: float = 0.0
    copy_bytes: float = 0.0
    loads_from: str = ""


def document_of(
    problem: Problem, plan: Plan, *, loads_from: str = "", curve: bool = False
) -> PlanDocument:
    """The plan in names and percents; `curve` adds the best level by number of moves."""
    before, after = plan.excess
    proved = plan.bound
    return PlanDocument(
        moves=tuple(_move(problem, move) for move in plan.moves),
        nodes=_nodes(problem, plan),
        staying=tuple(
            StayingDocument(vm=problem.vms[vm], rule=why.rule, why=why.text)
            for vm, why in sorted(plan.excluded.items())
        ),
        left=tuple(
            LeftDocument(node=problem.nodes[each.node], excess=_points(each.excess), why=each.why)
            for each in plan.left
        ),
        broken=plan.broken,
        bound=BoundDocument(moves=proved.moves, bytes=proved.bytes, method=proved.method)
        if proved
        else None,
        best_level=_curve(problem, len(plan.moves)) if curve else (),
        excess_before=_points(before),
        excess_after=_points(after),
        copy_seconds=round(plan.seconds, 1),
        copy_bytes=plan.bytes,
        loads_from=loads_from,
    )


def _move(problem: Problem, move: Move) -> MoveDocument:
    return MoveDocument(
        vm=problem.vms[move.vm],
        source=problem.nodes[move.source],
        target=problem.nodes[move.target],
        goal=move.goal,
        why=move.why,
        gain=_points(move.gain),
        seconds=round(move.seconds, 1),
        bytes=move.bytes,
        chain=move.chain,
        refused=tuple(alternative_of(problem, each) for each in move.alternatives),
    )


def alternative_of(problem: Problem, each: Alternative) -> AlternativeDocument:
    """A refused pair in names."""
    return AlternativeDocument(
        vm=problem.vms[each.vm],
        target=problem.nodes[each.target],
        gain=_points(each.gain),
        seconds=round(each.price_s, 1),
        rule=each.rule,
        why=each.text,
    )


def _nodes(problem: Problem, plan: Plan) -> tuple[NodeDocument, ...]:
    where = problem.where.copy()
    for move in plan.moves:
        where[move.vm] = move.target
    nodes = len(problem.nodes)
    before = np.bincount(problem.where[problem.where >= 0], minlength=nodes)
    after = np.bincount(where[where >= 0], minlength=nodes)
    return tuple(
        NodeDocument(
            name=problem.nodes[node],
            cpu_before=_points(plan.before[0, node]),
            cpu_after=_points(plan.after[0, node]),
            memory_before=_points(plan.before[1, node]),
            memory_after=_points(plan.after[1, node]),
            cpu_ceiling=_points(plan.ceiling[0, node]),
            memory_ceiling=_points(plan.ceiling[1, node]),
            vms_before=int(before[node]),
            vms_after=int(after[node]),
            open=bool(problem.open[node]),
        )
        for node in range(nodes)
    )


def _curve(problem: Problem, moves: int) -> tuple[LevelDocument, ...]:
    asked = sorted({0, *(round(moves * part / 4) for part in range(1, 5)), moves})
    return tuple(
        LevelDocument(moves=count, points_above_mean=_points(level))
        for count, level in best_level_by_moves(problem, asked)
    )


def _points(share: float) -> float:
    return round(100.0 * float(share), 2)
