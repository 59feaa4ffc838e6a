"""Cases: what the cluster looks like in one cycle, drawn so that the corners are reached.

A case depends on seed and session, the steps before and which evictions are under way. Most
steps are "normal": some nodes too hot, some nearly idle, pods of all kinds, and now and then a
taint, a cordon, an unready node. Between them stand steps that must fail or find nothing to do.
"""

from collections.abc import Mapping, Sequence
from random import Random

from msgspec import structs

from conformance.descheduler.draws.draft import Base, Case, Draft, Flying, mixed
from conformance.descheduler.draws.policies import Theme
from conformance.descheduler.draws.population import base_nodes, base_pods
from conformance.descheduler.draws.themes import THEMES

_ERRORS = ("P2", "P3", "P4", "P7", "P8", "P9")
_EXITS = ("R4", "none under", "all under", "none over")
_HIGH_EXITS = ("none under", "few under", "all under", "few under")


def steps_of(theme: Theme, session: int) -> Sequence[str]:
    """What kind each step of a session is of."""
    if theme.steps:
        return theme.steps
    if theme.mode == "high":
        ends = [_HIGH_EXITS[(session + at) % 4] for at in range(2)]
        return ("normal", ends[0], "no destination", "normal", ends[1], "no destination", "normal")
    if theme.mode == "metrics":
        return ("normal", "P7", "normal", "R4", "normal", "normal")
    if theme.mode == "requests":
        few = "few under" if theme.args.get("numberOfNodes") else "none over"
        return ("normal", few, "normal", "none under", "normal", few)
    return ("normal", _ERRORS[session % 6], "normal", _EXITS[session % 4], "normal", "normal")


class Session:
    """One policy and its cases."""

    def __init__(self, seed: int, number: int) -> None:
        self.seed, self.number = seed, number
        self.theme = THEMES[number % len(THEMES)](self._random("policy"))
        self.steps = steps_of(self.theme, number)
        nodes = base_nodes(str(seed))
        self._base = Base(
            nodes=nodes,
            pods=base_pods(str(seed)),
            pool=mixed(self._random("pool"), [node.name for node in nodes[1:]]),
            dark=nodes[0].name,
        )

    def _random(self, purpose: object) -> Random:
        return Random(f"{self.seed}: {self.number}: {purpose}")

    def case(self, step: int, flying: Mapping[str, Flying]) -> Case:
        """The case of one step; `flying` are the evictions under way, by uid."""
        draft = Draft(self._base, self.theme, self._random(step), self.steps[step], step)
        draft.shape_nodes()
        draft.shape_pods(flying)
        self._base = structs.replace(self._base, pods=draft.changed)
        return draft.case()
