"""One run of the real descheduler for all tests of this folder."""

import os

import pytest

from builders.examples import FULL
from conformance.descheduler.run import Tally, numbers_for, run

SEED = 1


@pytest.fixture(scope="session")
def standard_run() -> Tally:
    """Every second theme, in the full tier every one; all recordings are kept.

    All themes of this seed are also replayed from a file (tests/unit/policy).
    """
    return run(SEED, numbers_for(120, SEED)[:: 1 if FULL else 2], keep=True)


@pytest.fixture(scope="session")
def full_run() -> Tally:
    """A thousand cycles with another seed each time it is asked for by TRIMTAB_SEED."""
    seed = int(os.environ.get("TRIMTAB_SEED", "2"))
    return run(seed, numbers_for(1000, seed))
