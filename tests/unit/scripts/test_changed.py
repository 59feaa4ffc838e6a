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
    names = changed.reached_names({file})
    assert reached <= names
    assert names.isdisjoint(not_reached)


def test_every_folder_of_tests_has_the_name_of_a_room_or_of_a_folder_at_the_top() -> None:
    rooms = {path.name for path in (ROOT / "src" / "trimtab").iterdir()}
    top = {path.name for path in ROOT.iterdir() if path.is_dir()}
    tiers = [ROOT / "tests" / tier for tier in ("unit", "contract", "system", "browser")]
    folders = {
        path.name for tier in tiers for path in tier.iterdir() if any(path.glob("**/test_*.py"))
    }
    assert folders - rooms - top == set()
