"""The Python API: what the page promises holds, and importing it costs nothing until it is used."""

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trimtab
from trimtab.scores import CATALOG, define, evaluate, find_score, load_score_file, window
from trimtab.scores.inputs import cpu_usage, excesses, memory_usage
from trimtab.scores.language import average_over, cluster_record, median, record
from trimtab.scores.source import score_text

PAGE = (Path(__file__).parents[3] / "docs/reference/python.md").read_text()
# three nodes over 20 minutes, every 15 s: (times, nodes, inputs)
LOADS = np.random.default_rng(1).uniform(0, 0.9, (81, 3, 4))
WINDOW = window(LOADS, np.arange(81) * 15.0)
EXAMPLES = [part.split("```")[0] for part in PAGE.split("```python\n")[1:]]


@pytest.mark.parametrize("code", EXAMPLES, ids=["one setting", "own", "study"])
def test_an_example_of_the_page_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="install the extra: make setup")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "python.md", "exec"), {})


def test_every_public_name_is_there_and_on_the_page() -> None:
    assert dir(trimtab) == sorted(trimtab.__all__)
    for name in trimtab.__all__:
        assert getattr(trimtab, name) is not None
        assert f"`{name}" in PAGE or name == "__version__"
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        trimtab.nonsense  # noqa: B018


def test_importing_trimtab_loads_neither_numpy_nor_the_simulator() -> None:
    code = "import sys, trimtab; sys.exit(any(m in sys.modules for m in ('numpy', 'trimtab.sim')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_run_is_that_of_the_command_line() -> None:
    runs = trimtab.simulate("one-hot-node", "max_metric", seeds=[7], duration="10m")
    again = trimtab.simulate(
        trimtab.load_scenario("one-hot-node"), find_score("max_metric"), seeds=[7], duration=600
    )
    assert again[0].card == runs[0].card
    assert runs.frame()["score"].to_list() == ["max_metric"]


def test_doing_nothing_moves_nothing() -> None:
    runs = trimtab.simulate("one-hot-node", None, seeds=2, duration="10m")
    assert len(runs.migrations()) == 0
    assert runs.frame()["migrations"].sum() == 0


@pytest.mark.parametrize("name", CATALOG)
def test_a_score_of_the_catalogue_survives_as_text(name: str, tmp_path: Path) -> None:
    """As the text of a file under another name it gives the same run."""
    known = CATALOG[name]
    own = define(f"own_{name}", known.value.parts[0].parts[0], formula="")
    file = tmp_path / "own.py"
    file.write_text(score_text(own))
    found = evaluate(load_score_file(file), WINDOW)
    assert np.array_equal(found, evaluate(known, WINDOW))


def test_a_score_with_records_of_its_own_survives_as_text(tmp_path: Path) -> None:
    usual = cluster_record("usual_cpu", median(cpu_usage))
    above = record("above_usual", cpu_usage - usual)
    score = define("mine", average_over(above, 120) + excesses[2] + memory_usage, formula="f")
    file = tmp_path / "mine.py"
    file.write_text(score_text(score))
    first = trimtab.simulate("one-hot-node", score, seeds=2, duration="10m")
    second = trimtab.simulate("one-hot-node", file, seeds=2, duration="10m")
    assert [each.card for each in first] == [each.card for each in second]


@pytest.mark.parametrize(
    "expression", ["cpu_usage +", "no_such_input", "open('x')", "cpu_usage.x", "1 + 2"]
)
def test_what_is_no_expression_is_refused_in_one_sentence(expression: str) -> None:
    with pytest.raises(trimtab.TrimtabError, match=r'score ["\']bad["\']'):
        trimtab.define_score("bad", expression)


def test_a_study_without_a_place_goes_with_its_object() -> None:
    fields = {"scenarios": ["one-hot-node"], "scores": ["max_metric"], "seeds": 1, "duration": "3m"}
    study = trimtab.run_study(fields, jobs=1)
    directory = study.directory
    assert (directory / "report.html").exists()
    del study
    gc.collect()
    assert not directory.exists()


def test_a_study_that_is_kept_continues(tmp_path: Path) -> None:
    fields = {
        "scenarios": ["one-hot-node"], "scores": ["max_metric"], "seeds": 2, "duration": "5m",
    }  # fmt: skip
    first = trimtab.run_study(fields, out=tmp_path / "s", jobs=1)
    chunks = sorted((tmp_path / "s" / "runs").iterdir())
    stamps = [chunk.stat().st_mtime_ns for chunk in chunks]
    second = trimtab.run_study(fields, out=tmp_path / "s", jobs=1)
    assert [chunk.stat().st_mtime_ns for chunk in chunks] == stamps
    assert second.ranking().equals(first.ranking())
    with pytest.raises(trimtab.TrimtabError, match="there is no scenario 'nowhere'"):
        second.ranking("nowhere")
