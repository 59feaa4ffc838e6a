"""What is promised to whom: SLOs as they are declared, and their limits.

An SLO is a number from 0 to 1, declared on a pod, its owner or its namespace. The spelling is
narrow on purpose, and the same here as in the admission policy, so that what the API server lets
in can always be read: `0.95`, `.95`, `1`, `1.0`, `95%`, `99.9%`.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Struct, structs

from trimtab.errors import ConfigError
from trimtab.kube.runtime.options import Option

ANNOTATION = "qos.trimtab.dev/slo"
LEGACY_SLO, LEGACY_CONTROLLER = "slo", "controller"
PATTERN = (
    r"^(0(\.[0-9]{1,9})?|\.[0-9]{1,9}|1(\.0{1,9})?|(100(\.0{1,9})?|[0-9]{1,2}(\.[0-9]{1,9})?)%)$"
)
"""RE2 and Python read it alike."""
_SPELLING = re.compile(PATTERN, re.ASCII)

Source = Literal["pod", "owner", "class", "namespace", "default"]


class Promise(Struct, frozen=True):
    """An SLO, who made it, and the name under which such promises are counted together."""

    slo: float
    source: Source
    class_name: str


class Declarations(Struct, frozen=True):
    """The annotations that may declare an SLO, nearest first, and the pod's PriorityClass."""

    pod: Mapping[str, str]
    owner: Mapping[str, str]
    namespace: Mapping[str, str]
    priority_class: str = ""


class PromiseTerms(Struct, frozen=True):
    """What holds where nothing was declared."""

    default: float
    by_class: Mapping[str, float]
    legacy: bool = False


def parse_slo(text: str, where: str = "SLO") -> float:
    slo = read_slo(text)
    if slo is None:
        raise ConfigError(
            f"{where}: {text!r} is not an SLO; write a number from 0 to 1 like 0.95, or 95%"
        )
    return slo


def read_slo(text: str) -> float | None:
    """The number, or None if it is not one."""
    if not _SPELLING.fullmatch(text):
        return None
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def nearest_promise(declared: Declarations, terms: PromiseTerms) -> tuple[Promise, tuple[str, ...]]:
    """The nearest promise that can be read, and complaints about nearer ones that cannot."""
    complaints: list[str] = []
    for source, annotations in _nearest_first(declared):
        for name in _names(terms.legacy):
            text = annotations.get(name)
            if text is None:
                continue
            slo = read_slo(text)
            if slo is not None:
                return Promise(slo, source, spelled(slo)), tuple(complaints)
            complaints.append(f'{name}: "{text}" on the {source} is not an SLO and is ignored')
        if source == "owner" and declared.priority_class in terms.by_class:
            by_class = terms.by_class[declared.priority_class]
            return Promise(by_class, "class", declared.priority_class), tuple(complaints)
    return Promise(terms.default, "default", spelled(terms.default)), tuple(complaints)


def _nearest_first(declared: Declarations) -> tuple[tuple[Source, Mapping[str, str]], ...]:
    return (
        ("pod", declared.pod),
        ("owner", declared.owner),
        ("namespace", declared.namespace),
    )


def _names(legacy: bool) -> tuple[str, ...]:
    return (ANNOTATION, LEGACY_SLO) if legacy else (ANNOTATION,)


def spelled(slo: float) -> str:
    """The shortest text: 0.9, 1, 0.999."""
    return f"{slo:.9g}"


# Who may promise how much: a ceiling of the SLO by namespace, and a budget for all together.
#
# A ceiling is an annotation on the namespace, which those who work in it cannot change, or the
# service's own default. The budget is a share of the cores that pods can be put on: a promise of
# 0.9 to a pod of two cores takes 1.8 of it. Until `enforced` is on, what is above a limit is
# warned of and counted; then it is refused at creation, and a ceiling caps every promise read.
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
