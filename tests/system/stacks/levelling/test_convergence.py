"""The real descheduler, scheduler and Prometheus relieve the hot node, then come to rest."""

from collections import Counter

import pytest

from builders.labs.loops import LoopLab, Story, vm_of

pytestmark = pytest.mark.engines

SIX = (
    "cpu_focused",
    "euclidean_distance",
    "max_metric",
    "ideal_point_positive_distance",
    "volume",
)
KINDS = {"underutilized": "under", "appropriate": "appropriate", "overutilized": "over"}
"""What the descheduler's log calls a node, and what we do."""


def check_story(loop: LoopLab, story: Story) -> None:
    """What every converging run has in common."""
    assert story.over_at_first == ("kwok-node-1",)
    assert story.deviation_after <= story.deviation_before / 2
    kinds = {node.name: node.kind for node in story.at_last.nodes}
    assert "over" not in kinds.values(), kinds
    assert len(kinds) == 5
    assert kinds == {node: KINDS[said] for node, said in loop.cycles()[-1].classes.items()}
    assert len(story.migrations) >= 5
    check_traces(loop, story)
    assert loop.query("node_vm_count") == placements(loop)


def check_traces(loop: LoopLab, story: Story) -> None:
    """Each migration answers a mark that the descheduler's own eviction made, and no other.

    A pod may be marked twice: an answer that comes too late on a busy machine is asked for again.
    """
    marked = loop.marked()
    moved = Counter(migration.spec.vm_name for migration in story.migrations)
    assert moved == Counter(vm_of(pod) for pod in marked)
    assert marked == loop.ours(r.pod for r in loop.requests() if r.background)


def placements(loop: LoopLab) -> dict[str, float]:
    """VMs per node, as the API has them."""
    counted = Counter(vm.status.node_name for vm in loop.vms())
    return {f"kwok-node-{n}": float(counted[f"kwok-node-{n}"]) for n in range(1, 6)}


def test_the_default_policy_levels_a_hot_node_and_comes_to_rest(loop: LoopLab) -> None:
    loop.start_over()
    check_story(loop, loop.converge())


@pytest.mark.full
def test_another_score_levels_it_too_after_a_switch_while_it_runs(loop: LoopLab) -> None:
    loop.algorithm("cpu_focused")
    loop.start_over()
    story = loop.converge()
    assert story.at_last.algorithm == "cpu_focused"
    check_story(loop, story)


@pytest.mark.full
@pytest.mark.parametrize("score", SIX[1:])
def test_further_scores_level_it_as_well(loop: LoopLab, score: str) -> None:
    loop.algorithm(score)
    loop.start_over()
    check_story(loop, loop.converge())
