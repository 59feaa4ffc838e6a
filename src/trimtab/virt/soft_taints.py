"""The soft taints of OpenShift's soft tainter: their keys, their effect, who gets them.

An over-utilised node has two, an appropriate one has one, an under-utilised one has none, so
the scheduler prefers the emptier nodes. If no node is under-utilised, appropriate nodes have
none either, so that some nodes are preferred. The descheduler counts soft taints like hard
ones: while every under-utilised node still has one, it evicts nothing.
"""

from typing import Final, Literal

NodeClass = Literal["under", "appropriate", "over"]

PREFIX = "nodeutilization.descheduler.openshift.io"
OVER, APPROPRIATE = f"{PREFIX}/overutilized", f"{PREFIX}/appropriate"
KEYS = frozenset((OVER, APPROPRIATE))
EFFECT: Final = "PreferNoSchedule"


def keys_of(kind: NodeClass, *, some_under: bool) -> tuple[str, ...]:
    """The taints of a node; `some_under` says whether any node is under-utilised."""
    if kind == "over":
        return APPROPRIATE, OVER
    return (APPROPRIATE,) if kind == "appropriate" and some_under else ()
