"""The values of a plan: moves with their reasons, and what was refused instead."""

from typing import Literal

from msgspec import Struct

from trimtab.balance.bounds import Bound
from trimtab.balance.problem import Exclusion, Floats

Goal = Literal["drain", "repair", "relieve", "level", "reserve"]


class Alternative(Struct, frozen=True):
    """A pair of VM and target that was considered and not taken."""

    vm: int
    target: int
    gain: float
    price_s: float
    rule: str
    """The rule that refused it: requests, allowed-nodes, anti-affinity, closed, margin, rank, …"""
    text: str


class Move(Struct, frozen=True, kw_only=True):
    """One migration. The moves of a plan are carried out in their order.

    gain: drop of excess, in shares of a node; may be 0 for the helping move of a chain.
    chain: moves with the same number above 0 only make sense together.
    """

    vm: int
    source: int
    target: int
    goal: Goal
    why: str
    gain: float
    seconds: float
    bytes: float
    chain: int = 0
    alternatives: tuple[Alternative, ...] = ()


class LeftOver(Struct, frozen=True):
    """A node that stays above its limit, and why no move helps it."""

    node: int
    excess: float
    why: str


class Plan(Struct, frozen=True, kw_only=True, eq=False):
    """What to do, and what it brings. Shares are (2, N), CPU and memory."""

    moves: tuple[Move, ...]
    before: Floats
    after: Floats
    ceiling: Floats
    """(2, N): the most that each node may carry to be level."""
    left: tuple[LeftOver, ...]
    broken: tuple[str, ...]
    """Rules that are broken now and that no move of the plan repairs."""
    excluded: dict[int, Exclusion]
    bound: Bound | None = None

    @property
    def seconds(self) -> float:
        """Predicted seconds of copying, one migration after the other."""
        return sum(move.seconds for move in self.moves)

    @property
    def bytes(self) -> float:
        return sum(move.bytes for move in self.moves)

    @property
    def excess(self) -> tuple[float, float]:
        """Excess over all nodes before and after, in shares of a node."""
        before = float((self.before - self.ceiling).clip(min=0).sum())
        after = float((self.after - self.ceiling).clip(min=0).sum())
        return before, after
