"""The two ConfigMaps that a lab projects, with what becomes of their texts."""

from functools import partial
from pathlib import Path

from trimtab.policy import read_policy
from trimtab.scores.prometheus.files import KEY as RULES_KEY
from trimtab.scores.prometheus.focus import focus
from trimtab.scores.prometheus.rescale import rescale
from trimtab.stacks.loop.projector import policy_file, rules_file
from trimtab.stacks.loop.projector.policy_file import queries
from trimtab.stacks.loop.projector.projection import Part
from trimtab.stacks.loop.projector.projector import Wish
from trimtab.stacks.loop.settings import (
    POLICY_FILE,
    POLICY_KEY,
    POLICY_MAP,
    RULES_FILE,
    RULES_MAP,
    WISHED_POLICY_FILE,
    WISHED_RULES_FILE,
)


def policy_part(scale: float, prometheus: str) -> Part:
    convert = partial(policy_file.for_lab, scale=scale, prometheus=prometheus, where=POLICY_KEY)
    return Part(*POLICY_MAP, POLICY_KEY, POLICY_FILE, "descheduler", convert)


def rules_part(scale: float, promtool: Path, policy: Path | None = None) -> Part:
    """With `policy`, a file, only what that policy asks for is evaluated often."""

    def convert(text: str) -> str:
        rules = rescale(text, scale, RULES_KEY)
        if policy is None or not policy.exists():
            return rules
        return focus(rules, queries(read_policy(policy.read_text(), str(policy))), RULES_KEY)

    check = partial(rules_file.check_rules, promtool=promtool)
    return Part(*RULES_MAP, RULES_KEY, RULES_FILE, "prometheus", convert, check)


def wishes(
    directory: Path, scale: float, prometheus: str, promtool: Path, *, focused: bool = False
) -> list[Wish]:
    """Both parts with the files in which `lab up` left its wishes."""
    policy = directory / POLICY_FILE if focused else None
    return [
        Wish(policy_part(scale, prometheus), directory / WISHED_POLICY_FILE),
        Wish(rules_part(scale, promtool, policy), directory / WISHED_RULES_FILE),
    ]
