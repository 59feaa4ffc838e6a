"""A candidate: one way to run the cluster, i.e. a score with everything that decides beside it.

The study ranks candidates. Do-nothing is one of them, always: the loads without any move.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

from msgspec import Struct

from trimtab.scores import CATALOG
from trimtab.sim.spec import Placement, Restraint, VictimChoice
from trimtab.study.inputs.file import CandidateGrid, Limits, Pair

DO_NOTHING = "do-nothing"


class Candidate(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A score and its setting; a score of None is do-nothing."""

    score: str | None
    policy: str = ""
    """The name of a policy file; empty is the default policy."""
    thresholds: Pair | None = None
    limits: Limits | None = None
    placement: Placement = "spread"
    victims: VictimChoice = "stock"
    restraint: Restraint = Restraint()

    @property
    def title(self) -> str:
        return self.score or DO_NOTHING

    @property
    def is_own(self) -> bool:
        """Whether its score is the user's own, not one of the catalogue."""
        return self.score is not None and self.score not in CATALOG

    @property
    def is_what_if(self) -> bool:
        """Whether it needs more than today's descheduler and scheduler can do."""
        return (
            self.victims != "stock"
            or self.placement in ("least-loaded", "soft-taints")
            or self.restraint != Restraint()
        )


def combine(grid: CandidateGrid, scores: Sequence[str], policies: Sequence[str]) -> list[Candidate]:
    """Every combination of a grid's lists, scores first; `scores` and `policies` are names."""
    return [
        Candidate(score, *setting)
        for setting in product(
            policies or ("",),
            grid.thresholds or (None,),
            grid.limits or (None,),
            grid.placement,
            grid.victims,
            grid.restraint,
        )
        for score in scores
    ]


def labels(candidates: Sequence[Candidate]) -> list[str]:
    """What to call each: the score, and of the setting only what differs within the study."""
    active = [c for c in candidates if c.score is not None]
    varying = [name for name in _PARTS if len({getattr(c, name) for c in active}) > 1]
    first = active[0] if active else None
    return [
        " · ".join([c.title, *_differences(c, first, varying)])
        if c.score is not None and first is not None
        else c.title
        for c in candidates
    ]


def _differences(candidate: Candidate, first: Candidate, varying: Iterable[str]) -> list[str]:
    return [
        _PARTS[name](getattr(candidate, name))
        for name in varying
        if getattr(candidate, name) != getattr(first, name)
    ]


def pair_text(pair: Pair | Limits | None, separator: str = ":") -> str:
    """`0:10`; the policy's own where nothing replaces it."""
    return "policy’s" if pair is None else separator.join(f"{number:g}" for number in pair)


def restraint_text(restraint: Restraint) -> str:
    """`3 in a row, cooldown 60 min`; `unrestrained` if nothing holds a VM back."""
    parts = []
    if restraint.consecutive > 1:
        parts.append(f"{restraint.consecutive} in a row")
    if restraint.cooldown_s:
        parts.append(f"cooldown {restraint.cooldown_s / 60:g} min")
    if restraint.minimum_gain:
        parts.append(f"gain ≥ {restraint.minimum_gain:g}")
    return ", ".join(parts) or "unrestrained"


_PARTS: dict[str, Callable[[Any], str]] = {
    "policy": lambda value: value or "default policy",
    "thresholds": pair_text,
    "limits": lambda value: f"limits {pair_text(value, '/')}",
    "placement": str,
    "victims": lambda value: f"{value} victims",
    "restraint": restraint_text,
}
