"""The rules of a large or fast lab follow its policy."""

from pathlib import Path

import pytest
import yaml

from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.scores.prometheus.records import score_record
from trimtab.stacks.loop.projector.parts import rules_part
from trimtab.stacks.loop.projector.policy_file import shipped_rules, with_algorithm
from trimtab.stacks.loop.stack import slow_rules_s


def fast(text: str) -> set[str]:
    groups = {group["name"]: group for group in yaml.load(text, Loader=yaml.CSafeLoader)["groups"]}
    assert groups["trimtab"]["interval"] == "3s"
    return {rule["record"] for rule in groups["trimtab"]["rules"]}


def test_another_policy_is_another_file_of_rules(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    part = rules_part(5.0, Path("promtool"), policy)
    shipped = shipped_rules(500)
    everything = fast(part.convert(shipped))
    assert score_record("cpu_focused", "avg1m") in everything, "nobody knows the policy yet"
    policy.write_text(DEFAULT_POLICY)
    first = fast(part.convert(shipped))
    assert score_record("cpu_focused", "avg1m") not in first
    policy.write_text(with_algorithm(DEFAULT_POLICY, "cpu_focused"))
    second = fast(part.convert(shipped))
    assert score_record("cpu_focused", "avg1m") in second
    assert len(second) < len(everything) / 4


@pytest.mark.parametrize(
    ("nodes", "scale", "seconds"),
    [
        pytest.param(5, 1.0, 0.0, id="a small lab: every score as often as the policy's"),
        pytest.param(5, 15.0, 4.0, id="a fast one: once a minute of its clock"),
        pytest.param(500, 5.0, 60.0, id="a large one: once a minute"),
    ],
)
def test_what_the_policy_does_not_read_is_evaluated_slowly(
    nodes: int, scale: float, seconds: float
) -> None:
    assert slow_rules_s(nodes, scale) == seconds
