"""What one run of the simulator is made of. Two equal specs give the same outcome, bit for bit."""

from typing import Literal

from msgspec import Struct

from trimtab.model.scenarios.scenario import Scenario

Placement = Literal["spread", "binpack", "least-loaded", "soft-taints"]
VictimChoice = Literal["stock", "best-fit", "steepest-pair", "planned"]


class Timing(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The periods of the real loop, in seconds, and where in its period each part starts."""

    scrape_s: float = 15.0
    rules_s: float = 15.0
    descheduling_s: float = 60.0
    scrape_phase_s: float = 0.0
    rules_phase_s: float = 0.0
    random_phases: bool = True
    """The seed adds a random part of a period to both phases."""
    reaction_s: float = 0.0
    """From an eviction until its migration begins: the mark, the target's pod, its scheduling."""


class Restraint(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What keeps a VM where it is, beyond the policy's own limits. All off by default."""

    cooldown_s: float = 0.0
    """A VM that moved stays this long, doubling with each further move."""
    consecutive: int = 1
    """A node must be over-utilised in this many cycles in a row."""
    minimum_gain: float = 0.0
    """A move must lower the sum of squared loads of the nodes by more than this.

    CPU and memory together, as shares of the nodes; for best-fit and steepest-pair only.
    """


class RunSpec(Struct, frozen=True, rename="camel"):
    """Scenario + score + policy + placement + victim choice + timing; the seed comes beside it."""

    scenario: Scenario
    score: str | None = "linear_amplified_ippd_k3"
    """A name of the catalogue; None is do-nothing: no evictions, the same loads."""
    policy: str = ""
    """The text of a descheduler policy; empty means the default one (0:10, 5 in all, 2 a node)."""
    thresholds: tuple[float, float] | None = None
    """Replaces the policy's deviation thresholds (below, above the mean, in points)."""
    limits: tuple[int, int] | None = None
    """Replaces the policy's limits on evictions (in all, per node)."""
    placement: Placement = "spread"
    victims: VictimChoice = "stock"
    restraint: Restraint = Restraint()
    timing: Timing = Timing()
