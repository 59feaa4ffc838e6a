"""`trimtab`: the groups of commands, and what happens to their errors.

Groups are named by import path, so that `trimtab --help` loads none of them; a new group
is one line in `GROUPS`.
"""

import os
import sys

from cyclopts import App, CycloptsError, Parameter

from trimtab import __version__
from trimtab.cli.numbers import finite
from trimtab.errors import TrimtabError

# name: (where it is, what it is for)
GROUPS: dict[str, tuple[str, str]] = {
    "scenario": ("trimtab.cli.scenario:app", "Check, look at and convert scenario files"),
    "scores": ("trimtab.cli.scores:app", "Ways to tell how loaded a node is"),
    "rules": ("trimtab.cli.rules:app", "Write the recording rules and alerts for Prometheus"),
    "sim": ("trimtab.cli.sim:app", "Simulate one run and compare it with doing nothing"),
    "engines": ("trimtab.cli.engines:app", "Compile and keep the Go programs that a lab runs"),
    "lab": ("trimtab.cli.lab:app", "A real control plane with fake nodes on this computer"),
    "snapshot": ("trimtab.cli.snapshot:app", "Write what a cluster is like now into a file"),
    "explain": ("trimtab.cli.explain:app", "Why pods were evicted, or why nothing was"),
    "lint": ("trimtab.cli.lint:app", "Find what is wrong with a descheduler policy"),
    "vm": ("trimtab.cli.vm:app", "Create, look at, move, stop and delete VirtualMachines"),
    "advisor": ("trimtab.cli.advisor:app", "Configure a cluster for VMs: plan, approve, go back"),
    "qos": ("trimtab.cli.qos:app", "Who has the promised availability, who waits, and why"),
    "run": ("trimtab.cli.run:app", "One service in this process, until SIGTERM"),
    "study": (
        "trimtab.cli.study:app",
        "Compare scores, thresholds and limits over many simulations",
    ),
    "fidelity": ("trimtab.cli.fidelity:app", "Is the real descheduler predicted right?"),
    "doctor": ("trimtab.cli.doctor:doctor", "Check what the commands need and say how to get it"),
}

app = App(
    name="trimtab",
    version=__version__,
    help="Keep a cluster of virtual machines level with the fewest, safest moves.",
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(validator=finite),
    help_epilogue="Every command has --help with examples; --debug shows where an error came from.",
)
app.register_install_completion_command()
for _name, (_path, _help) in GROUPS.items():
    app.command(_path, name=_name, help=_help)


def run() -> None:
    """The console script: 0 done, 1 failed, 2 bad input or usage, 130 interrupted."""
    debug = "--debug" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        result = app(arguments, result_action="return_value", exit_on_error=False)
    except CycloptsError:  # already printed, with the usage
        sys.exit(2)
    except TrimtabError as error:
        if debug:
            raise
        print(f"trimtab: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("trimtab: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(result if isinstance(result, int) else 0)
