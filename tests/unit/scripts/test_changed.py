"""Which contract tests `make quick` runs: the rooms that a change can reach."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def changed() -> Any:
    spec = spec_from_file_location("changed", ROOT / "scripts" / "changed.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("file", "reached", "not_reached"),
    [
        ("src/trimtab/prom/client.py", {"prom", "observe", "cli"}, {"qos", "scores", "model"}),
        ("src/trimtab/errors.py", {"kube", "qos", "study", "advisor", "k8s"}, {"docs"}),
        ("src/trimtab/cli/main.py", {"cli"}, {"kube", "study"}),
        ("src/trimtab/gone/away.py", set(), {"kube"}),
        ("k8s/advisor/kustomization.yaml", {"k8s"}, {"advisor"}),
        ("docs/guide/index.md", {"k8s"}, {"kube"}),
        ("tests/contract/qos/test_page.py", {"qos"}, {"kube"}),
        ("tests/builders/proxies/faults.py", {"kube"}, {"scores", "view"}),
        ("conformance/apiserver.py", {"kube", "qos", "truth"}, {"balance", "study"}),
        ("tests/builders/waiting.py", {"kube", "qos", "engines", "study"}, {"balance"}),
    ],
)
def test_a_change_reaches_the_rooms_above_it(
    changed: Any, file: str, reached: set[str], not_reached: set[str]
) -> None:
    names = changed.distances({file}).keys()
    assert reached <= names
    assert names.isdisjoint(not_reached)


def test_rooms_are_as_far_as_their_imports(changed: Any) -> None:
    found = changed.distances({"src/trimtab/prom/client.py"})
    assert (found["prom"], found["observe"]) == (0, 1)
    assert found["observe"] < found["study"] <= found["k8s"]
    assert changed.distances({"tests/contract/qos/test_page.py"})["qos"] == 0
    assert changed.distances({"tests/builders/proxies/faults.py"})["kube"] == 1


@pytest.mark.parametrize(
    ("distances", "chosen"),
    [
        pytest.param({"a": 1, "b": 2, "c": 3}, {"a", "b", "c"}, id="all, if there is time"),
        pytest.param({"long": 0, "a": 1}, {"long"}, id="what changed takes all the time it needs"),
        pytest.param({"half": 1, "most": 2, "a": 2}, {"half", "a"}, id="the nearest first"),
        pytest.param({"half": 2, "most": 1, "a": 3}, {"most", "a"}, id="a short one still fits"),
    ],
)
def test_a_change_at_the_bottom_runs_the_nearest_tests_that_there_is_time_for(
    changed: Any, distances: dict[str, int], chosen: set[str]
) -> None:
    seconds = {"a": 10.0, "b": 20.0, "c": 30.0, "half": 50.0, "most": 80.0, "long": 300.0}
    assert changed.affordable(distances, seconds, 100.0) == chosen


def test_seconds_are_learned_from_the_last_run_of_each_folder(
    changed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed, "LEARNED", tmp_path / "seconds.json")
    folder = tmp_path / "kube"
    folder.mkdir()
    (folder / "test_watch.py").write_text("def test_one(): ...\nasync def test_two(): ...\n")
    assert changed.seconds_of(folder) == 2 * changed.A_TEST_S
    for times in ((1.5, 2.25), (4.0, 0.5)):
        cases = "".join(
            f'<testcase classname="tests.contract.kube.test_watch" time="{time}"/>'
            for time in times
        )
        other = '<testcase classname="tests.unit.qos.test_key" time="9"/>'
        (tmp_path / "report.xml").write_text(f"<testsuites>{cases}{other}</testsuites>")
        changed.learn(tmp_path / "report.xml")
        assert changed.seconds_of(folder) == pytest.approx(sum(times), abs=0.1)
    assert "qos" not in changed.LEARNED.read_text()


def test_every_folder_of_tests_has_the_name_of_a_room_or_of_a_folder_at_the_top() -> None:
    rooms = {path.name for path in (ROOT / "src" / "trimtab").iterdir()}
    top = {path.name for path in ROOT.iterdir() if path.is_dir()}
    tiers = [ROOT / "tests" / tier for tier in ("unit", "contract", "system", "browser")]
    folders = {
        path.name for tier in tiers for path in tier.iterdir() if any(path.glob("**/test_*.py"))
    }
    assert folders - rooms - top == set()
