"""Findings: what is wrong, how bad it is, why, and what to do; one `Rule` stands for each kind."""

from typing import Literal

from msgspec import Struct

Severity = Literal["error", "warning", "note"]
"""A note is worth knowing and no fault: it does not change the exit code."""
DOCS = "docs/reference/lint.md"


class Rule(Struct, frozen=True, kw_only=True):
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


class Finding(Struct, frozen=True, rename="camel"):
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


def finding(rule: Rule, field: str, message: str, *, severity: Severity | None = None) -> Finding:
    return Finding(
        rule.id,
        severity or rule.severity,
        field,
        message,
        rule.explanation,
        rule.fix,
        rule.docs,
    )
