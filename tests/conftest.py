"""What all tests share: property tests that are the same on every run and never look at a clock."""

import os

from hypothesis import HealthCheck, settings

# Two workers with two threads each that wait for each other take longer than one thread alone.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Machines are noisy: a limit on the time of one example would fail tests that are right.
settings.register_profile(
    "trimtab",
    deadline=None,
    derandomize=True,
    max_examples=100 if os.environ.get("TRIMTAB_TEST_FULL") else 20,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("trimtab")
