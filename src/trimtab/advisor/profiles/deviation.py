"""What the names of deviation thresholds mean: points of percent around the average load."""

from typing import get_args

from trimtab.advisor.api import Deviation

_DISTANCES = {"Low": 10, "Medium": 20, "High": 30}


def thresholds(deviation: str) -> tuple[int, int]:
    """Points below and above the mean; asymmetric ones begin at the mean."""
    high = _DISTANCES[deviation.removeprefix("Asymmetric")]
    return (0 if deviation.startswith("Asymmetric") else high), high


def in_words(deviation: str) -> str:
    """When a node counts as loaded, and where VMs may go."""
    low, high = thresholds(deviation)
    below = f"more than {low} points below it" if low else "below it"
    return (
        f"{deviation}: a node more than {high} percentage points above the average load is "
        f"overloaded, one {below} takes VMs"
    )


def all_in_words() -> dict[str, str]:
    return {name: in_words(name) for name in get_args(Deviation)}
