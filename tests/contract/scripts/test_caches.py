"""What the scripts keep between two runs does not change what the next one says."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
CONTRACT = """\
[importlinter]
root_package = trimtab
include_external_packages = True
[importlinter:contract:apart]
name = above knows nothing of below
type = forbidden
source_modules = trimtab.above
forbidden_modules = trimtab.below
"""


def a_tree(root: Path) -> Path:
    """A package of two modules that must not meet, with a look at what a change reaches."""
    package = root / "src" / "trimtab"
    (root / "scripts").mkdir()
    package.mkdir(parents=True)
    (root / "tests" / "contract").mkdir(parents=True)
    for name in ("__init__", "above", "below"):
        (package / f"{name}.py").touch()
    (root / ".importlinter").write_text(CONTRACT)
    shutil.copy(ROOT / "scripts" / "changed.py", root / "scripts")
    return package


def run(root: Path, *command: str) -> int:
    env = {"PYTHONPATH": str(root / "src"), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    return subprocess.run(command, cwd=root, env=env, capture_output=True, check=False).returncode


def test_an_import_that_make_quick_has_seen_still_breaks_the_layers(tmp_path: Path) -> None:
    package = a_tree(tmp_path)
    assert run(tmp_path, "lint-imports") == 0
    (package / "above.py").write_text("import trimtab.below\n")
    assert run(tmp_path, sys.executable, "scripts/changed.py") == 0
    assert run(tmp_path, "lint-imports") == 1
