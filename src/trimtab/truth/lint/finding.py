"""Findings: what is wrong, how bad it is, why, what to do; one `LintRule` for each kind."""

import re
from typing import Literal

import yaml
from msgspec import Struct

# Where a field of a policy stands in its file.
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def line_of(text: str, field: str) -> int | None:
    """The line, from 1, of the deepest part of `field` that the text has."""
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return None
    line = None
    for name, index in _STEP.findall(field):
        found = _child(node, name, index)
        if found is None:
            return line
        line, node = found
    return line


def _child(node: yaml.Node | None, name: str, index: str) -> tuple[int, yaml.Node] | None:
    if index and isinstance(node, yaml.SequenceNode) and int(index) < len(node.value):
        item = node.value[int(index)]
        return item.start_mark.line + 1, item
    if name and isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == name:
                return key.start_mark.line + 1, value
    return None


Severity = Literal["error", "warning", "note"]
"""A note is worth knowing and no fault: it does not change the exit code."""
DOCS = "docs/reference/lint.md"


class LintRule(Struct, frozen=True, kw_only=True):
    """A kind of finding."""

    id: str
    severity: Severity
    title: str
    explanation: str
    fix: str
    needs: str = "the policy"
    """What must be given to find it."""

    @property
    def docs(self) -> str:
        return f"{DOCS}#{self.id}"


class LintFinding(Struct, frozen=True, rename="camel"):
    """One thing that is wrong in one place."""

    id: str
    severity: Severity
    field: str
    """A path in the policy, or the name of what is wrong in the cluster."""
    message: str
    explanation: str
    fix: str
    docs: str
    line: int | None = None


def finding(
    rule: LintRule, field: str, message: str, *, severity: Severity | None = None
) -> LintFinding:
    return LintFinding(
        rule.id,
        severity or rule.severity,
        field,
        message,
        rule.explanation,
        rule.fix,
        rule.docs,
    )
