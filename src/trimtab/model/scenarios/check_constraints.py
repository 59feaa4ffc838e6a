"""What is wrong with the rules of a VM in a scenario file, as the API server would say it."""

import re
from collections.abc import Iterator, Mapping

from trimtab.errors import ConfigError
from trimtab.model.pod_rules import AntiAffinityTerm, Constraints, NodeTerm, Toleration
from trimtab.model.selectors import label_problem, node_requirement_problem, selector_of

MAX_SENTENCE = 300
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_OPERATORS = ("", "Equal", "Exists", "Lt", "Gt")
_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")
NODE_NAME = "metadata.name"


def constraint_problems(rules: Constraints, field: str) -> Iterator[str]:
    """Every mistake, one line each."""
    if not _NAMESPACE.fullmatch(rules.namespace):
        yield f"{field}.namespace: {rules.namespace!r} cannot be a namespace"
    yield from _labels(rules.labels, f"{field}.labels")
    yield from _labels(rules.node_selector, f"{field}.nodeSelector")
    if rules.node_affinity == ():
        yield f"{field}.nodeAffinity: without a term no node fits; leave it out, or write one"
    for at, term in enumerate(rules.node_affinity or ()):
        yield from _node_term(term, f"{field}.nodeAffinity[{at}]")
    for at, toleration in enumerate(rules.tolerations):
        yield from _toleration(toleration, f"{field}.tolerations[{at}]")
    for at, apart in enumerate(rules.anti_affinity):
        yield from _apart(apart, f"{field}.antiAffinity[{at}]")
    if len(rules.not_movable) > MAX_SENTENCE or not rules.not_movable.isprintable():
        yield f"{field}.notMovable: write one line of at most {MAX_SENTENCE} characters"


def _labels(labels: Mapping[str, str], field: str) -> Iterator[str]:
    for key, value in labels.items():
        if problem := label_problem(key, value):
            yield f"{field}: {problem}"


def _node_term(term: NodeTerm, field: str) -> Iterator[str]:
    if not term.match_expressions and not term.match_fields:
        yield f"{field}: an empty term matches no node; write matchExpressions or matchFields"
    for expression in term.match_expressions:
        if problem := node_requirement_problem(expression):
            yield f"{field}.matchExpressions: {problem}"
    for expression in term.match_fields:
        fits = expression.operator in ("In", "NotIn") and len(expression.values) == 1
        if expression.key != NODE_NAME or not fits:
            yield f"{field}.matchFields: write {NODE_NAME} with In or NotIn and one value"


def _toleration(toleration: Toleration, field: str) -> Iterator[str]:
    if toleration.operator not in _OPERATORS:
        yield f"{field}.operator: {toleration.operator!r} is not Equal, Exists, Lt or Gt"
    elif not toleration.key and toleration.operator != "Exists":
        yield f"{field}.key: only the operator Exists goes without a key"
    elif toleration.operator == "Exists" and toleration.value:
        yield f"{field}.value: the operator Exists takes no value"
    if toleration.effect not in _EFFECTS:
        yield f"{field}.effect: {toleration.effect!r} is not one of {', '.join(_EFFECTS[1:])}"


def _apart(term: AntiAffinityTerm, field: str) -> Iterator[str]:
    if problem := label_problem(term.topology_key, ""):
        yield f"{field}.topologyKey: {problem}"
    if term.label_selector is None:
        yield f"{field}.labelSelector: without one no pod is kept apart; write matchLabels"
        return
    try:
        selector_of(term.label_selector, f"{field}.labelSelector")
    except ConfigError as error:
        yield str(error)
