"""What the linter says of the descheduler is what the descheduler does."""

import asyncio

import pytest

from builders.labs.lint_shown import POLICIES, SAMPLES, Seen, Shown, show_all
from trimtab.truth.lint import lint

pytestmark = pytest.mark.engines

FINDINGS = [
    *(each.id for each in (*SAMPLES, *POLICIES) if each.id),
    "url-https-port",
    "url-scheme",
]


@pytest.fixture(scope="module")
def results() -> dict[str, tuple[Shown, Seen]]:
    return asyncio.run(show_all())


@pytest.mark.parametrize("finding", FINDINGS)
def test_the_finding_is_true(finding: str, results: dict[str, tuple[Shown, Seen]]) -> None:
    shown, seen = results[finding]
    log = "\n".join(seen.lines)
    assert shown.says in log.replace('\\"', '"'), log
    assert len(seen.asked) == shown.asked, log
    assert finding in [found.id for found in lint(seen.facts)]


def test_without_a_finding_it_evicts(results: dict[str, tuple[Shown, Seen]]) -> None:
    shown, seen = results[""]
    assert lint(seen.facts) == ()
    assert len(seen.asked) == shown.asked == 2
