"""Which soft taints nodes should wear: OpenShift's rule, as a pure function.

An over-utilised node wears two, an appropriate one wears one, an under-utilised one none; so
the scheduler prefers the emptier ones. The descheduler, however, counts soft taints like hard
ones: while every under-utilised node still wears one, it evicts nothing.
"""

from collections.abc import Mapping, Sequence

from trimtab.kube.resources import Taint
from trimtab.stacks.loop.state.classes import Verdict
from trimtab.virt.soft_taints import APPROPRIATE, EFFECT, KEYS


def wanted(verdict: Verdict) -> Mapping[str, frozenset[str]]:
    """The taints of each classified node; if nobody is under, appropriate ones go without."""
    kinds = {name: standing.kind for name, standing in verdict.nodes.items()}
    some_under = "under" in kinds.values()
    by_kind = {
        "over": KEYS,
        "appropriate": frozenset((APPROPRIATE,)) if some_under else frozenset[str](),
        "under": frozenset[str](),
    }
    return {name: by_kind[kind] for name, kind in kinds.items()}


def worn(taints: Sequence[Taint]) -> frozenset[str]:
    """Those of our taints that a node wears."""
    return frozenset(taint.key for taint in taints if taint.key in KEYS)


def dressed(taints: Sequence[Taint], keys: frozenset[str]) -> list[Taint]:
    """A node's taints with exactly `keys` of ours; everybody else's stay as they are."""
    others = [taint for taint in taints if taint.key not in KEYS]
    return others + [Taint(key=key, value="true", effect=EFFECT) for key in sorted(keys)]
