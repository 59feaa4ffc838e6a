"""Candidates are called by what tells them apart, and by nothing else."""

from trimtab.sim.spec import Restraint
from trimtab.study.inputs.candidate import Candidate, combine, labels
from trimtab.study.inputs.file import CandidateGrid


def test_without_differences_the_score_is_name_enough() -> None:
    found = [
        Candidate(None),
        Candidate("a", thresholds=(0, 10)),
        Candidate("b", thresholds=(0, 10)),
    ]
    assert labels(found) == ["do-nothing", "a", "b"]


def test_only_what_differs_from_the_first_setting_is_told() -> None:
    found = [
        Candidate(None, thresholds=(0, 10)),
        Candidate("a", thresholds=(0, 10)),
        Candidate("a", thresholds=(0, 20), victims="best-fit"),
        Candidate("a", thresholds=(0, 10), restraint=Restraint(cooldown_s=3600, consecutive=3)),
        Candidate("a", thresholds=(0, 10), limits=(9, 3), policy="strict"),
    ]
    assert labels(found) == [
        "do-nothing",
        "a",
        "a · 0:20 · best-fit victims",
        "a · 3 in a row, cooldown 60 min",
        "a · strict · limits 9/3",
    ]


def test_labels_are_unique_for_a_whole_grid() -> None:
    grid = CandidateGrid(
        thresholds=((0, 10), (5, 10)),
        limits=((5, 2), (10, 3)),
        placement=("spread", "binpack"),
        victims=("stock", "best-fit"),
        restraint=(Restraint(), Restraint(minimum_gain=0.01)),
    )
    found = combine(grid, ["a", "b"], ["p", "q"])
    assert len(found) == 2**7
    assert len(set(labels(found))) == len(found)


def test_a_score_outside_the_catalogue_is_the_users_own() -> None:
    assert Candidate("memory_twice").is_own
    assert not Candidate("max_metric").is_own
    assert not Candidate(None).is_own
