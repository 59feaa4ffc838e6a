"""Findings for people, and as SARIF 2.1.0 for the tools that show findings beside code."""

import re
from collections.abc import Sequence
from typing import Any

from trimtab import __version__
from trimtab.truth.lint import CATALOGUE, Facts, LintFinding, LintRule, unchecked
from trimtab.view.terminal import tell

_OPTION = re.compile(r"--[a-z-]+")

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def show_findings(findings: Sequence[LintFinding], facts: Facts) -> None:
    """Each with its place, why it matters and what to do; then how much was judged."""
    file = facts.file
    for number, found in enumerate(findings):
        if number:
            tell()
        place = f"{file}:{found.line}" if found.line else file
        tell(f"{place}: {found.severity}: {found.message} [{found.id}]")
        tell(f"  at    {found.field}")
        tell(f"  why   {found.explanation}")
        tell(f"  fix   {found.fix}")
        tell(f"  docs  {found.docs}")
    if findings:
        tell()
    tell(f"{file}: {_summary(findings, facts)}")


def _summary(findings: Sequence[LintFinding], facts: Facts) -> str:
    """`no findings; 20 checks ran, 7 more need --prometheus or --kubeconfig`."""
    left = unchecked(facts)
    what = "no findings" if not findings else f"{len(findings)} findings"
    what = "1 finding" if len(findings) == 1 else what
    ran = f"{what}; {len(CATALOGUE) - len(left)} checks ran"
    useless = {"--kubeconfig"} if facts.cluster is not None else set()  # it did not tell
    options = sorted({o for rule in left for o in _OPTION.findall(rule.needs)} - useless)
    return f"{ran}, {len(left)} more need {' or '.join(options)}" if left else ran


def sarif(findings: Sequence[LintFinding], file: str) -> dict[str, Any]:
    """One run with all rules, so that viewers can explain those that were not broken too."""
    driver = {
        "name": "trimtab-lint",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in CATALOGUE],
    }
    index = {rule.id: at for at, rule in enumerate(CATALOGUE)}
    results = [_result(found, file, index[found.id]) for found in findings]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _rule(rule: LintRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(part.capitalize() for part in rule.id.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.explanation},
        "help": {"text": f"{rule.fix} See {rule.docs}."},
        "defaultConfiguration": {"level": rule.severity},
    }


def _result(found: LintFinding, file: str, index: int) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(file)}}
    if found.line:
        physical["region"] = {"startLine": found.line}
    logical = {"fullyQualifiedName": found.field}
    return {
        "ruleId": found.id,
        "ruleIndex": index,
        "level": found.severity,
        "message": {"text": f"{found.message}. {found.fix}"},
        "locations": [{"physicalLocation": physical, "logicalLocations": [logical]}],
    }


def _uri(file: str) -> str:
    """A relative reference; blanks are no part of one."""
    return file.replace(" ", "%20")
