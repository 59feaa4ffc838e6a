"""A help loads the command line, and nothing that the commands work with; a service no other."""

import json
import subprocess
import sys

import pytest

from trimtab.cli.groups import CONTENTS, GROUPS, generate, listed, loaded

HEAVY = ("numpy", "polars", "yaml", "httpx2", "starlette", "uvicorn", "trimtab.obs")
ROOMS = ("kube", "lab", "stacks", "install", "model.scenarios", "policy", "scores", "sim", "truth")
ALLOWED = {"record", "web"}
"""Groups that are one command, whose options still come with what they work on."""
_LOADED = """
import contextlib, io, json, sys
from trimtab.cli.main import _run
loaded = {}
for group in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        assert _run([group, "--help"]) == 0
    assert "Usage: trimtab " + group in shown.getvalue()
    loaded[group] = sorted(sys.modules)
print(json.dumps(loaded))
"""


def test_no_help_of_a_group_loads_what_its_commands_work_with() -> None:
    groups = [group for group in GROUPS if group not in ALLOWED]
    command = [sys.executable, "-c", _LOADED, *groups]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    too_much = {*HEAVY, *(f"trimtab.{room}" for room in ROOMS)}
    seen: set[str] = set()
    for group, modules in json.loads(done.stdout).items():
        assert (group, sorted(too_much & set(modules) - seen)) == (group, [])
        seen |= set(modules)


@pytest.mark.parametrize("group", sorted(CONTENTS))
def test_a_group_lists_the_commands_that_its_module_declares(group: str) -> None:
    names = [name for name in loaded(group) if not name.startswith("-")]
    assert [name for name in listed(group) if not name.startswith("-")] == names
    for name in names:
        command = listed(group)[name]
        assert command.name == (name,)
        assert command.default_command is loaded(group)[name].default_command


def test_the_list_of_commands_is_up_to_date() -> None:
    (text,) = generate().values()
    assert json.loads(text) == CONTENTS, "run: make generate"


def test_running_a_service_loads_no_other_one() -> None:
    code = (
        "import sys; from trimtab.stacks.registry import find_service; "
        "find_service('vm-controller'); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    others = {"trimtab.qos", "trimtab.advisor", "trimtab.exporter", "trimtab.sim"}
    assert "trimtab.vm.settings" in loaded
    assert not loaded & others


@pytest.mark.parametrize(
    "module", ["trimtab.vm.service", "trimtab.vm.webhook", "trimtab.qos.service.service"]
)
def test_a_service_that_computes_no_means_starts_without_numpy(module: str) -> None:
    code = f"import sys, {module}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
