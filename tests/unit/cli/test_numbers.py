"""Numbers on the command line: `nan`, infinite and impossible ones are refused by every option."""

import pytest
from cyclopts import CycloptsError

from trimtab.cli.main import app


@pytest.mark.parametrize(
    "command",
    [
        "vm create x --cpu-use nan",
        "vm create x --cpu-use inf",
        "vm create x --cpu-use -1",
        "vm create x --cpu-use 1e308",
        "vm create x --memory-use nan",
        "vm create x --memory-use 1.5",
        "vm set x --cpu-use nan",
        "vm list --timeout -5",
        "vm list --timeout nan",
        "vm create x --node a/b",
        "vm migrate x --to ../y",
        "rules --interval inf",
        "rules --scale nan",
        "sim one-hot-node --minimum-gain nan",
        "qos top --watch nan",
        "lab watch --every -1",
        "web --every 0",
        "web --port 70000",
        "run vm-controller --parallel 0",
        "run vm-controller --port 70000",
        "advisor status --timeout -1",
    ],
)
def test_a_number_that_makes_no_sense_is_refused(command: str) -> None:
    with pytest.raises(CycloptsError, match="Invalid value"):
        app(command.split(), exit_on_error=False, print_error=False)


def test_a_name_with_a_newline_is_no_node() -> None:
    with pytest.raises(CycloptsError, match="cannot be the name of a node"):
        app(["vm", "create", "x", "--node", "n1\n"], exit_on_error=False, print_error=False)
