"""What all tests of stacks share."""

from collections.abc import Iterator
from functools import cache

import pytest

from trimtab.stacks.loop import stack
from trimtab.stacks.loop.projector.policy_file import shipped_rules


@pytest.fixture(autouse=True, scope="session")
def rules_are_made_once() -> Iterator[None]:
    """Every loop on paper has the rules of all scores: they depend on the number of nodes only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stack, "shipped_rules", cache(shipped_rules))
        yield
