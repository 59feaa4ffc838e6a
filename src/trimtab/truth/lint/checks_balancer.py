"""The finding that two balancers act on one cluster."""

from collections.abc import Iterator

from trimtab.policy.file.settings import LowNodeUtilization, Policy
from trimtab.truth.lint import catalogue as rules
from trimtab.truth.lint.checks_policy import args_field
from trimtab.truth.lint.facts import Facts
from trimtab.truth.lint.finding import Finding, finding


def check_balancer(facts: Facts, policy: Policy) -> Iterator[Finding]:
    """An enabled LowNodeUtilization beside a balancer that acts."""
    if not facts.acting_balancer:
        return
    for at, profile in enumerate(policy.profiles):
        for name, plugin in profile.plugins:
            if isinstance(plugin, LowNodeUtilization):
                message = f"{name} is enabled, and the balancer acts too: {facts.acting_balancer}"
                yield finding(rules.TWO_BALANCERS, args_field(facts, at, name), message)
