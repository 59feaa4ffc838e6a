"""Groups that load one command at a time: `trimtab vm --help` imports none of its commands.

The names and descriptions that a group's help shows are in contents.json, which `make generate`
writes from the commands themselves. A group that is a command too (`trimtab study`) is not
there: its help shows options, for which its module is needed.

cyclopts finds a lazy command as an attribute of a module, so groups and commands are attributes
of this one: `vm`, `vm__create`.
"""

import json
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any

from cyclopts import App

CONTENTS: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("contents.json").read_text(encoding="utf-8")
)
# name: (where it is in trimtab.cli, what it is for)
GROUPS: dict[str, tuple[str, str]] = {
    "scenario": ("simulation.scenario:app", "Check, look at and convert scenario files"),
    "scores": ("simulation.scores:app", "Ways to tell how loaded a node is"),
    "rules": ("simulation.rules:app", "Write the recording rules and alerts for Prometheus"),
    "sim": ("simulation.sim.commands:app", "Simulate one run and compare it with doing nothing"),
    "engines": ("setup.engines:app", "Compile and keep the Go programs that a lab runs"),
    "lab": ("lab.commands:app", "A real control plane with fake nodes on this computer"),
    "snapshot": ("diagnosis.snapshot:app", "Write what a cluster is like now into a file"),
    "record": ("record.commands:app", "Write a cluster and its load of days into an archive"),
    "replay": ("record.replay:app", "Is the simulator right about a recorded cluster?"),
    "whatif": ("record.whatif:app", "Which setting suits a recorded cluster, and what of it"),
    "explain": ("diagnosis.explain:app", "Why pods were evicted, or why nothing was"),
    "lint": ("diagnosis.lint:app", "Find what is wrong with a descheduler policy"),
    "balance": ("services.balance.commands:app", "Which VM should move where, with a proof"),
    "web": ("page.web:app", "A page in your browser: nodes, VMs, moves, and why"),
    "top": ("page.top:app", "The page in this terminal: nodes, VMs, moves, and why"),
    "vm": ("services.vm.commands:app", "Create, look at, move, stop and delete VirtualMachines"),
    "advisor": (
        "services.advisor.commands:app",
        "Configure a cluster for VMs: plan, approve, go back",
    ),
    "qos": ("services.qos.commands:app", "Who has the promised availability, who waits, and why"),
    "run": ("services.run:app", "One service in this process, until SIGTERM"),
    "study": (
        "simulation.study:app",
        "Compare scores, thresholds and limits over many simulations",
    ),
    "fidelity": ("simulation.fidelity:app", "Is the real descheduler predicted right?"),
    "examples": (
        "setup.examples:app",
        "The scenarios, policies, snapshots and studies that come with trimtab",
    ),
    "doctor": (
        "setup.doctor:doctor",
        "Check what the commands need and say how to get it",
    ),
}


def path_of(group: str) -> str:
    """Where cyclopts finds a group: here if its commands are listed, otherwise its module."""
    return f"{__name__}:{group}" if group in CONTENTS else f"trimtab.cli.{GROUPS[group][0]}"


def __getattr__(name: str) -> App:
    group, both, command = name.partition("__")
    if group not in CONTENTS:
        raise AttributeError(name)
    if not both:
        return listed(group)
    app: App = loaded(group)[command]
    app._name = (command,)  # a command is named by its group; cyclopts would ask its function
    return app


def listed(group: str) -> App:
    """A group as its help shows it; a command of it is loaded when it is used."""
    app = App(name=group, help=GROUPS[group][1])
    for command, about in CONTENTS[group].items():
        app.command(f"{__name__}:{group}__{command}", name=command, help=about)
    return app


def loaded(group: str) -> Any:
    """A group with all that its module declares: an App, or the function of its one command."""
    module, _, attribute = GROUPS[group][0].partition(":")
    return getattr(import_module(f"trimtab.cli.{module}"), attribute)


def generate() -> dict[str, str]:
    """`contents.json`, from what the modules of the groups declare."""
    contents = {name: commands for name in GROUPS if (commands := _described(name))}
    text = json.dumps(contents, indent=1, ensure_ascii=False)
    return {"src/trimtab/cli/contents.json": text + "\n"}


def _described(group: str) -> dict[str, str]:
    """The commands of a group with their descriptions; none of a group that is a command too."""
    app = loaded(group)
    if not isinstance(app, App) or app.default_command is not None:
        return {}
    names = (name for name in app if not name.startswith("-"))
    return {name: _description(app[name].help) for name in names}


def _description(text: str) -> str:
    """A docstring without its list of parameters."""
    return cleandoc(text).partition("\n\nParameters\n")[0]
