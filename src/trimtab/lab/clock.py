"""The ConfigMap from which everybody in a lab reads the time, and whether it is right."""

from collections.abc import Mapping
from typing import Any

from trimtab.lab.components.identity import NAMESPACE
from trimtab.lab.spec import Clock

CLOCK_PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps/clock"
_TITLE = f"the lab's clock (ConfigMap {NAMESPACE}/clock)"


def clock_map(clock: Clock) -> dict[str, Any]:
    """The clock as everybody in the lab reads it: both values as text, the epoch in seconds."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "clock", "namespace": NAMESPACE},
        "data": {"epoch": f"{clock.epoch:.3f}", "scale": str(clock.scale)},
    }


def wrong_clock(clock: Clock, found: Mapping[str, str] | None) -> str:
    """The difference between the lab's clock and what its ConfigMap says, in words; or nothing."""
    if found is None:
        return f"{_TITLE} is gone"
    right: dict[str, str] = clock_map(clock)["data"]
    try:
        same = all(float(found[key]) == float(value) for key, value in right.items())
    except (KeyError, ValueError):
        same = False
    if same:
        return ""
    said = ", ".join(f"{key} {found.get(key, 'missing')}" for key in right)
    wanted = ", ".join(f"{key} {value}" for key, value in right.items())
    return f"{_TITLE} says {said} instead of {wanted}"
