"""Who may promise how much: a ceiling of the SLO by namespace, and a budget for all together.

A ceiling is an annotation on the namespace, which those who work in it cannot change, or the
service's own default. The budget is a share of the cores that pods can be put on: a promise of
0.9 to a pod of two cores takes 1.8 of it. Until `enforced` is on, what is above a limit is
warned of and counted; then it is refused at creation, and a ceiling caps every promise read.
"""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Struct, structs

from trimtab.errors import ConfigError
from trimtab.kube.runtime.options import Option
from trimtab.qos.promise.slo import Promise, parse_slo, read_slo, spelled

CEILING = "qos.trimtab.dev/max-slo"
_ROUNDING = 1e-9
Slo = Annotated[float, Option(parse=parse_slo, write=spelled)]
"""An option with an SLO: 0.95, or 95%."""


class PromiseLimits(Struct, frozen=True, kw_only=True):
    """What an operator allows."""

    highest_slo: Slo = 1.0
    """The highest SLO that may be promised in a namespace without the annotation
    qos.trimtab.dev/max-slo."""
    budget: Annotated[float | None, Option(names=("--promise-budget",))] = None
    """Share of the nodes' cores that may be promised in all, as 0.9; without it any."""
    enforced: Annotated[bool, Option(names=("--enforce-promises",))] = False
    """Refuse pods above these limits and cap their promises; otherwise they are warned of and
    counted."""
    contact: str = "whoever runs this cluster"
    """The person that a refusal names to be asked."""

    def __post_init__(self) -> None:
        if self.budget is not None and not 0 < self.budget <= 100:
            raise ConfigError(
                f"--promise-budget {self.budget:g}: give a share of the cores, as 0.9"
            )


class Ask(Struct, frozen=True):
    """A pod that is about to exist, as a promise."""

    who: str
    """Kind, namespace and name of its controller."""
    namespace: str
    slo: float
    cores: float


class Promised(Struct, frozen=True):
    """What is promised already, and what there is, both in cores."""

    cores: float
    capacity: float


def ceiling_of(namespace: Mapping[str, str], limits: PromiseLimits) -> float:
    """The highest SLO of a namespace with these annotations; one that cannot be read is ignored."""
    own = read_slo(namespace.get(CEILING, ""))
    return limits.highest_slo if own is None else own


def capped(promise: Promise, ceiling: float, limits: PromiseLimits) -> Promise:
    """The promise that counts: where limits are enforced, never more than the ceiling."""
    if not limits.enforced or promise.slo <= ceiling:
        return promise
    return structs.replace(promise, slo=ceiling, class_name=spelled(ceiling))


def refusal(ask: Ask, ceiling: float, promised: Promised, limits: PromiseLimits) -> str | None:
    """Why the pod should not be promised this, in a sentence with a cure; None if it may."""
    if ask.slo > ceiling + _ROUNDING:
        return (
            f"{ask.who} asks for an SLO of {spelled(ask.slo)}; namespace {ask.namespace} may "
            f"promise {spelled(ceiling)} at most. Lower it, or ask {limits.contact}"
        )
    if limits.budget is None or not ask.slo * ask.cores:
        return None
    wanted, most = ask.slo * ask.cores, limits.budget * promised.capacity
    if promised.cores + wanted <= most + _ROUNDING:
        return None
    return (
        f"{ask.who} asks for {wanted:.4g} cores ({spelled(ask.slo)} of {ask.cores:.4g}); "
        f"{promised.cores:.4g} of the {most:.4g} that may be promised are. "
        f"Lower the SLO or the requests, or ask {limits.contact}"
    )
