"""What was promised: a number from 0 to 1, and where it is declared.

The spelling is narrow on purpose, and the same here as in the admission policy, so that what
the API server lets in can always be read: `0.95`, `.95`, `1`, `1.0`, `95%`, `99.9%`.
"""

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from trimtab.errors import ConfigError

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


def promised(declared: Declarations, terms: PromiseTerms) -> tuple[Promise, tuple[str, ...]]:
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
