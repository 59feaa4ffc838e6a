"""Label selectors in the three forms that a policy and a pod use, and what they match.

A text (`kubevirt.io/schedulable=true, zone in (a,b), !gone`), `matchLabels` with
`matchExpressions`, and the terms of a required node affinity. All become requirements
that are tried one by one; a selector without requirements matches everything.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.model.pod_rules import Expression, Match, NodeTerm

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
_OPERATORS: dict[str, Operator] = {
    "In": "In",
    "NotIn": "NotIn",
    "Exists": "Exists",
    "DoesNotExist": "DoesNotExist",
    "Gt": "Gt",
    "Lt": "Lt",
}

_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DOMAIN = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
_KEY = re.compile(rf"(?:(?P<prefix>{_DOMAIN})/)?{_NAME}")
_VALUE = re.compile(rf"(?:{_NAME})?")
_INTEGER = re.compile(r"[+-]?[0-9]+")


class Requirement(Struct, frozen=True):
    """One condition on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
        theirs, mine = _integer(value), _integer(self.values[0])
        if theirs is None or mine is None:
            return False
        return theirs > mine if self.operator == "Gt" else theirs < mine

    def problem(self) -> str | None:
        """Why Kubernetes would refuse this requirement, or None."""
        key = _KEY.fullmatch(self.key)
        if not key or len(key["prefix"] or "") > 253:
            return f"{self.key!r} is not a label key"
        if self.operator in ("In", "NotIn") and not self.values:
            return f"{self.operator} needs at least one value"
        if self.operator in ("Exists", "DoesNotExist") and self.values:
            return f"{self.operator} takes no values"
        if self.operator in ("Gt", "Lt") and [_integer(v) is not None for v in self.values] != [
            True
        ]:
            return f"{self.operator} needs exactly one integer"
        bad = [value for value in self.values if not _VALUE.fullmatch(value)]
        return f"{bad[0]!r} is not a label value" if bad else None


def label_problem(key: str, value: str) -> str | None:
    """Why Kubernetes would refuse this label, or None."""
    return Requirement(key, "In", (value,)).problem()


def node_requirement_problem(expression: Expression) -> str | None:
    """Why Kubernetes would refuse this condition on a node's label, or None."""
    operator = _OPERATORS.get(expression.operator)
    if operator is None:
        return f"{expression.operator!r} is not one of {', '.join(_OPERATORS)}"
    return Requirement(expression.key, operator, expression.values).problem()


def _integer(text: str | None) -> int | None:
    if text is None or not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


class LabelSelector(Struct, frozen=True):
    """All requirements must hold. `text` is what a person would write, and its identity."""

    text: str = ""
    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.matches(labels) for requirement in self.requirements)


EVERYTHING = LabelSelector()


def selector_of(match: Match, field: str) -> LabelSelector:
    """The object form as a selector; errors name `field`."""
    requirements = [Requirement(key, "In", (value,)) for key, value in match.match_labels.items()]
    for expression in match.match_expressions:
        operator = _OPERATORS.get(expression.operator)
        if operator is None or operator in ("Gt", "Lt"):
            raise ConfigError(
                f"{field}: {expression.operator!r} is not a valid label selector operator; "
                "use In, NotIn, Exists or DoesNotExist"
            )
        requirements.append(Requirement(expression.key, operator, expression.values))
    return _checked(requirements, field)


def _checked(requirements: Iterable[Requirement], field: str) -> LabelSelector:
    ordered = tuple(sorted(requirements, key=lambda requirement: requirement.key))
    for requirement in ordered:
        if problem := requirement.problem():
            raise ConfigError(f"{field}: {problem}")
    return LabelSelector(",".join(map(_text, ordered)), ordered)


def _text(requirement: Requirement) -> str:
    key, values = requirement.key, ",".join(sorted(requirement.values))
    match requirement.operator:
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
        case "Gt":
            return f"{key}>{values}"
        case "Lt":
            return f"{key}<{values}"
        case "In" if len(requirement.values) == 1:
            return f"{key}={values}"
        case operator:
            return f"{key} {operator.lower()} ({values})"


def matches_node(
    terms: Sequence[NodeTerm] | None,
    node_selector: Mapping[str, str],
    name: str,
    labels: Mapping[str, str],
) -> bool:
    """A pod's nodeSelector and required node affinity against a node.

    An empty term matches nothing, and so does an affinity without terms; a term that
    Kubernetes cannot parse matches nothing either (2.2 in docs/reference/policy.md).
    """
    if any(labels.get(key) != value for key, value in node_selector.items()):
        return False
    if terms is None:
        return True
    return any(_term_matches(term, name, labels) for term in terms)


def _term_matches(term: NodeTerm, name: str, labels: Mapping[str, str]) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    return all(_node_label(e, labels) for e in term.match_expressions) and all(
        _node_field(e, name) for e in term.match_fields
    )


def _node_label(expression: Expression, labels: Mapping[str, str]) -> bool:
    if node_requirement_problem(expression) is not None:
        return False
    operator = _OPERATORS[expression.operator]
    return Requirement(expression.key, operator, expression.values).matches(labels)


def _node_field(expression: Expression, name: str) -> bool:
    if len(expression.values) != 1 or expression.operator not in ("In", "NotIn"):
        return False
    # A field other than metadata.name reads as empty.
    actual = name if expression.key == "metadata.name" else ""
    return (actual == expression.values[0]) == (expression.operator == "In")
