"""A help loads the command line, and nothing that the commands work with; a service no other."""

import json
import os
import subprocess
import sys
from pathlib import Path

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


_STARTED = """
import contextlib, io, json, sys
from trimtab.cli.main import _run
loaded = {}
for line in sys.argv[1:]:
    with contextlib.redirect_stderr(io.StringIO()) as said:
        code = _run(line.split())
    assert code == 2, said.getvalue()
    loaded[line] = [said.getvalue(), sorted(sys.modules)]
print(json.dumps(loaded))
"""


def started(*lines: str, state: Path) -> dict[str, tuple[str, set[str]]]:
    """What each command said, and what the process had loaded by then; one process for all."""
    done = subprocess.run(
        [sys.executable, "-c", _STARTED, *lines],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "XDG_STATE_HOME": str(state)},
    )
    return {line: (said, set(all_)) for line, (said, all_) in json.loads(done.stdout).items()}


def test_services_that_compute_no_means_start_without_numpy_and_what_draws_in_terminals(
    tmp_path: Path,
) -> None:
    names = ("vm-controller", "qos", "advisor", "projector --promtool=x", "machine-config-operator")
    lines = [f"run {name} --kubeconfig=/nonexistent" for name in names]
    for line, (said, modules) in started(*lines, state=tmp_path).items():
        assert "kubeconfig /nonexistent: there is no such file" in said, line
        assert modules & {"numpy", "polars", "rich", "pygments"} == set(), line


def test_the_common_commands_of_a_lab_load_what_they_use(tmp_path: Path) -> None:
    reach = ("lab kubeconfig", "lab logs etcd")
    look = ("lab down", "lab status")
    heavy = {"numpy", "polars", "cryptography", "httpx2", "starlette", "trimtab.scores"}
    for line, (said, modules) in started(*reach, *look, state=tmp_path).items():
        assert 'no lab "default"' in said, line
        assert modules & heavy == set(), line
        if line in reach:
            assert modules & {"rich", "yaml", "asyncio"} == set(), line
