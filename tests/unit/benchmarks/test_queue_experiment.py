"""The experiment on the queue's order: its file, its chances, its figures, its recording."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from trimtab.benchmarks.queue.experiment import (
    DeploymentGroup,
    Gain,
    QueueExperiment,
    Served,
    Side,
    SideRun,
    gini,
    life_s,
    read_experiment,
    report,
    sequence,
    student,
)
from trimtab.benchmarks.queue.side import LABEL, RunningTimes, deployment, priority_classes
from trimtab.benchmarks.queue.table import gain_text
from trimtab.errors import ConfigError
from trimtab.kube.resources import ObjectMeta, Pod, PodSpec

EXAMPLES = Path(__file__).parents[3] / "examples" / "qos"
SMALL = QueueExperiment(
    name="small",
    nodes=1,
    slots_per_node=2,
    classes={
        "gold": DeploymentGroup(slo=1.0, deployments=1, upper=True),
        "bronze": DeploymentGroup(slo=0.5, deployments=2),
    },
    mean_life_s=10,
    duration_s=60,
    seeds=(1,),
)


def a_run(side: Side, seed: int = 1, **qos: float) -> SideRun:
    names = {"gold": "gold-00", "one": "bronze-00", "two": "bronze-01"}
    return SideRun(
        side=side,
        seed=seed,
        served={names[who]: Served(value * 100, 100, 3) for who, value in qos.items()},
    )


def test_the_long_example_is_the_one_that_was_asked_for() -> None:
    plan = read_experiment(EXAMPLES / "experiment.yaml")
    assert (plan.slots, len(plan.deployments), len(plan.seeds)) == (40, 60, 3)
    assert (plan.mean_life_s, plan.duration_s) == (30, 360)
    assert plan.demand == pytest.approx(1.0875)


@pytest.mark.parametrize("name", ["short", "medium"])
def test_the_smaller_examples_keep_its_proportions(name: str) -> None:
    plan = read_experiment(EXAMPLES / f"{name}.yaml")
    assert 1.0 < plan.demand < 1.3
    assert [group.slo for group in plan.classes.values()] == [1.0, 0.9, 0.5]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        pytest.param({"seeds": []}, "seeds", id="no seed"),
        pytest.param({"nodes": 0}, "nodes", id="no node"),
        pytest.param({"mean_life_s": 0}, "mean_life_s", id="no life"),
        pytest.param({"backoff_s": 1}, "backoff_s", id="the configuration is the shipped one"),
        pytest.param({"sides": ["best"]}, "best", id="unknown side"),
        pytest.param({"slot": 3}, "slot", id="misspelt"),
        pytest.param({"classes": {"a": {"slo": 95, "deployments": 1}}}, "0 to 1", id="percent"),
        pytest.param({"classes": {}}, "classes", id="no class"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(
    tmp_path: Path, change: dict[str, Any], fault: str
) -> None:
    text = yaml.safe_load((EXAMPLES / "short.yaml").read_text())
    file = tmp_path / "experiment.yaml"
    file.write_text(yaml.safe_dump(text | change))
    with pytest.raises(ConfigError, match=fault) as caught:
        read_experiment(file)
    assert "\n" not in str(caught.value)


def test_lives_depend_on_seed_deployment_and_incarnation_alone() -> None:
    drawn = {life_s(SMALL, s, d, i) for s in (1, 2) for d in (0, 1) for i in (1, 2)}
    assert len(drawn) == 8
    assert life_s(SMALL, 1, 0, 1) in drawn
    many = [life_s(SMALL, 5, d, i) for d in range(40) for i in range(50)]
    assert np.mean(many) == pytest.approx(SMALL.mean_life_s, rel=0.1)


def test_figures_are_told_together() -> None:
    found = report(SMALL, [a_run("stock", gold=0.5, one=0.2, two=0.6)])
    gold, bronze = found.figures
    assert (gold.mean_qos, gold.deficit, gold.fulfilled) == (0.5, 0.5, 0.0)
    assert bronze.deficit == pytest.approx(0.15)
    assert bronze.fulfilled == 0.5
    assert bronze.gini == pytest.approx(0.25)
    assert bronze.incarnations == 3


def test_nearly_always_is_always_for_an_slo_of_one() -> None:
    gold, _ = report(SMALL, [a_run("qos", gold=0.96, one=0.5, two=0.5)]).figures
    assert gold.fulfilled == 1.0
    assert gold.deficit == pytest.approx(0.04)


def test_the_gain_compares_the_upper_classes_with_stock() -> None:
    runs = [
        *(a_run("stock", seed, gold=0.5, one=0.5, two=0.5) for seed in (1, 2)),
        *(a_run("rank", seed, gold=0.75, one=0.2, two=0.6) for seed in (1, 2)),
        *(a_run("qos", seed, gold=0.9, one=0.4, two=0.4) for seed in (1, 2)),
    ]
    found = report(SMALL, runs)
    assert found.gain is not None
    assert found.gain.ratio == pytest.approx(5.0)
    assert found.gain.low == pytest.approx(5.0)  # both seeds say the same
    assert found.gain.is_certain
    assert found.rank_gain is not None
    assert found.rank_gain.ratio == pytest.approx(2.0)
    assert found.fairer == {"gold": False, "bronze": True}


def test_an_interval_is_over_seeds_however_many_deployments_there_are() -> None:
    """Two seeds that disagree say nothing, though hundreds of Deployments were served."""
    many = structs.replace(
        SMALL, classes={"gold": DeploymentGroup(slo=1.0, deployments=200, upper=True)}, seeds=(1, 2)
    )
    got: dict[tuple[Side, int], float] = {
        ("stock", 1): 0.5,
        ("stock", 2): 0.8,
        ("qos", 1): 0.8,
        ("qos", 2): 0.5,
    }
    runs = [
        SideRun(
            side=side, seed=seed, served={f"gold-{n:02}": Served(qos, 1, 1) for n in range(200)}
        )
        for (side, seed), qos in got.items()
    ]
    gain = report(many, runs).gain
    assert gain is not None
    assert gain.ratio == pytest.approx(1.0)
    assert gain.low is not None
    assert gain.low < 0.01
    assert not gain.is_certain
    alone = report(many, [run for run in runs if run.seed == 1]).gain
    assert alone is not None
    assert (alone.low, alone.high, alone.is_certain) == (None, None, False)


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        pytest.param(Gain(5.0, 4.0, 6.0, 3), "5.0 times smaller (95 % over 3 seeds: 4.0 to 6.0)"),
        pytest.param(Gain(0.8, 0.5, 0.9, 3), "1.2 times larger (95 % over 3 seeds: 1.1 to 2.0)"),
        pytest.param(Gain(1.1, 0.8, 1.5, 2), "do not agree"),
        pytest.param(Gain(2.0, None, None, 1), "2.0 times smaller (one seed: no interval)"),
    ],
)
def test_a_gain_is_told_as_smaller_or_larger(gain: Gain, words: str) -> None:
    assert words in gain_text(gain)


def test_the_order_of_the_sides_is_drawn_for_every_seed() -> None:
    plan = structs.replace(SMALL, seeds=tuple(range(20)))
    played = sequence(plan)
    assert sorted(played) == sorted((side, seed) for side in plan.sides for seed in plan.seeds)
    assert [seed for _, seed in played] == sorted(seed for _, seed in played)
    assert {side for side, _ in played[::3]} == set(plan.sides), "each is the first for some seed"
    assert played == sequence(plan)
    assert sequence(plan, ["qos"]) == [("qos", seed) for seed in plan.seeds]


@pytest.mark.parametrize("freedom", [1, 2, 5, 10, 11, 30, 100])
def test_students_quantile_is_right(freedom: int) -> None:
    right = {1: 12.706, 2: 4.303, 5: 2.571, 10: 2.228, 11: 2.201, 30: 2.042, 100: 1.984}
    assert student(freedom) == pytest.approx(right[freedom], abs=0.005)


def test_without_both_sides_there_is_no_gain() -> None:
    assert report(SMALL, [a_run("qos", gold=0.9, one=0.4, two=0.4)]).gain is None


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
def test_gini_is_a_share(values: list[float]) -> None:
    array = np.array(values)
    assert -1e-9 <= gini(array) <= 1.0
    assert gini(np.full(len(values), 0.3)) == pytest.approx(0.0)


def a_pod(uid: str, owner: str, node: str = "") -> Pod:
    meta = ObjectMeta(name=uid, namespace="n", uid=uid, labels={LABEL: owner})
    return Pod(metadata=meta, spec=PodSpec(node_name=node))


def test_a_recording_counts_running_from_bound_to_deleted() -> None:
    now = [0.0]
    recording = RunningTimes(lambda: now[0])
    recording.wanted_since = {"gold-00": 0.0}
    recording.see(a_pod("a", "gold-00"), gone=False)
    now[0] = 2.0
    assert recording.see(a_pod("a", "gold-00", "n1"), gone=False)
    now[0] = 5.0
    assert not recording.see(a_pod("a", "gold-00", "n1"), gone=False)
    recording.see(a_pod("a", "gold-00", "n1"), gone=True)
    now[0] = 6.0
    assert recording.see(a_pod("b", "gold-00", "n1"), gone=False)
    now[0] = 10.0
    wanted = Served(running_s=7.0, wanted_s=10.0, incarnations=2, queueing_s=2.0, replacing_s=1.0)
    assert recording.served() == {"gold-00": wanted}
    assert recording.served() == {"gold-00": wanted}  # looking changes nothing


def test_a_pod_that_is_seen_again_after_its_end_does_not_run_again() -> None:
    recording = RunningTimes(lambda: 1.0)
    recording.see(a_pod("a", "gold-00", "n1"), gone=True)
    assert not recording.see(a_pod("a", "gold-00", "n1"), gone=False)


def test_only_the_rank_side_has_priorities() -> None:
    assert [c["value"] for c in priority_classes(SMALL)] == [1000, 500]
    for side in ("stock", "qos"):
        assert "priorityClassName" not in _pod_spec(side)
    assert _pod_spec("rank")["priorityClassName"] == "slo-gold"


def _pod_spec(side: Any) -> dict[str, Any]:
    spec: dict[str, Any] = deployment(SMALL, "gold-00", side)["spec"]["template"]["spec"]
    return spec
