"""What is wrong with a policy, before somebody wonders why nothing is evicted.

`lint(facts)` judges by what is given: the text alone, or also rules, samples and a cluster.
The kinds of findings are in `catalogue`; nothing here asks anybody anything.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from trimtab.errors import ConfigError
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import Policy
from trimtab.policy.file.validation import PolicyError
from trimtab.truth.lint.catalogue import (
    BOTH,
    CATALOGUE,
    GATE,
    POLICY_REFUSED,
    PROMETHEUS,
    RECORDS,
    VERSION,
)
from trimtab.truth.lint.catalogue_vms import CLUSTER
from trimtab.truth.lint.checks.cluster import check_balancer, check_cluster
from trimtab.truth.lint.checks.policy import check_policy, check_program
from trimtab.truth.lint.checks.query import check_query
from trimtab.truth.lint.checks.vms import check_vms
from trimtab.truth.lint.facts import DeschedulerProgram, Facts, records_of
from trimtab.truth.lint.finding import LintFinding, LintRule, finding, line_of

__all__ = [
    "CATALOGUE",
    "DeschedulerProgram",
    "Facts",
    "LintFinding",
    "LintRule",
    "lint",
    "records_of",
    "unchecked",
]


_ORDER = ("error", "warning", "note")


def lint(facts: Facts) -> tuple[LintFinding, ...]:
    """All findings, errors first, otherwise in the order of the checks."""
    try:
        policy = _read(facts)
    except PolicyError as error:
        found = [finding(POLICY_REFUSED, p.field or "policy", p.text) for p in error.problems]
    except ConfigError as error:
        place, _, text = str(error).removeprefix(f"{facts.file}: ").partition(": ")
        found = [finding(POLICY_REFUSED, place if text else "policy", text or place)]
    else:
        found = list(_checked(facts, policy))
    located = [replace(each, line=line_of(facts.policy, each.field)) for each in found]
    return tuple(sorted(located, key=lambda each: _ORDER.index(each.severity)))


def unchecked(facts: Facts) -> tuple[LintRule, ...]:
    """The rules that could not be judged, because what they need was not given."""
    given = {
        PROMETHEUS: facts.query is not None,
        CLUSTER: facts.cluster is not None,
        BOTH: facts.query is not None and facts.cluster is not None,
        RECORDS: facts.records is not None,
        VERSION: bool(facts.program.version),
        GATE: facts.program.in_background is not None,
    }
    return tuple(rule for rule in CATALOGUE if not given.get(rule.needs, True))


def _read(facts: Facts) -> Policy:
    classes = facts.cluster.priority_classes if facts.cluster else _Any()
    return read_policy(facts.policy, facts.file, classes)


def _checked(facts: Facts, policy: Policy) -> Iterator[LintFinding]:
    yield from check_policy(facts, policy)
    yield from check_program(facts, policy)
    yield from check_query(facts, policy)
    yield from check_cluster(facts, policy)
    yield from check_vms(facts, policy)
    yield from check_balancer(facts, policy)


class _Any(dict[str, int]):
    """Priority classes that could not be read: each may exist."""

    def __bool__(self) -> bool:
        return True

    def get(self, key: object, default: object = None) -> int:
        return 0
