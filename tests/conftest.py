"""What all tests share: property tests that are the same on every run and never look at a clock."""

import pytest
from hypothesis import HealthCheck, settings

# Machines are noisy: a limit on the time of one example would fail tests that are right.
settings.register_profile(
    "trimtab", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("trimtab")


def pytest_configure(config: pytest.Config) -> None:
    """`proves` ties a test to points of the acceptance list; docs/reference is made from it."""
    config.addinivalue_line("markers", "proves(*points): points of the acceptance list it proves")
