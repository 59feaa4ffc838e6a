"""`trimtab lab`: a real Kubernetes control plane with fake nodes on this computer."""

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

from cyclopts import App, Parameter

from trimtab.cli.common.examples import examples
from trimtab.cli.common.output import Flag, Json, agreed, emit
from trimtab.cli.lab import context
from trimtab.cli.lab.context import Name, existing, home
from trimtab.errors import ConfigError, TrimtabError
from trimtab.lab import control, look, survey
from trimtab.lab import down as stop
from trimtab.lab import wipe as remove
from trimtab.lab.files import logs as log_files
from trimtab.lab.files.bundle import write_bundle
from trimtab.lab.spec import name_option
from trimtab.lab.stop import check_stopped
from trimtab.view.lab import show_labs
from trimtab.view.terminal import err, progress

app = App(name="lab", help="A real Kubernetes control plane with fake nodes on this computer.")

_KUBECTL_HELP = """\
Usage: trimtab lab kubectl [--name LAB] ARGUMENTS

Run kubectl against a lab, as its administrator; all other options are kubectl's.
kubectl's own help is shown here when there are programs and a lab: {}

Examples:
  trimtab lab kubectl get nodes
  trimtab lab kubectl --name second get pods -A"""


# What needs the whole loop is loaded only when it is called: `lab kubectl` must be quick.
app.command(
    "trimtab.cli.lab.up:up",
    name="up",
    help="Start a lab, or resume it with its data and ports; returns when everything is ready.\n\n"
    "What is not given stays as it is, or takes its default in a new lab. A running lab only "
    "grows (`--nodes`); any other change is refused while it runs.",
    help_epilogue=examples(
        "trimtab lab up",
        "trimtab lab up --scale 10 --algorithm cpu_focused",
        "trimtab lab up --scenario examples/scenarios/diurnal.yaml --migration recreate",
        "trimtab lab up --name mine --recording my.trimtab --scale 10 --compress 12",
        "trimtab lab up --with none --nodes 100 --placement binpack",
        "trimtab lab up --with loop --with qos",
        "trimtab lab up --name openshift --with advisor --ocp 5.14 --scale 10",
        "trimtab lab up --name second --scheduler-config my-scheduler.yaml",
    ),
)
_LIVE = "trimtab.cli.lab.live:"
app.command(
    "trimtab.cli.lab.status:status",
    name="status",
    help="Show every component and task of a lab, and warnings. Exits with 1 unless it is ready.",
    help_epilogue=examples("trimtab lab status", "trimtab lab status --json | jq .phase"),
)
app.command(
    f"{_LIVE}algorithm",
    name="algorithm",
    help="Change the node score that the descheduler goes by, while the lab runs.",
    help_epilogue=examples("trimtab lab algorithm", "trimtab lab algorithm cpu_focused"),
)
app.command(
    f"{_LIVE}scenario",
    name="scenario",
    help="Show the scenario, or start over with the VMs of one, while the lab runs.",
    help_epilogue=examples(
        "trimtab lab scenario", "trimtab lab scenario diurnal", "trimtab lab scenario --again"
    ),
)
app.command(
    f"{_LIVE}watch",
    name="watch",
    help="Nodes with bars and classes, evictions and migrations, live.",
    help_epilogue=examples("trimtab lab watch", "trimtab lab watch --once --json"),
)
app.command(
    f"{_LIVE}links",
    name="test",
    help="Is the loop closed? Each link, and what to look at if one is broken.",
    help_epilogue=examples("trimtab lab test", "trimtab lab test --json | jq .ok"),
)


@app.command(help_epilogue=examples("trimtab lab down"))
def down(*, name: Name = "default") -> None:
    """Stop a lab in order; its data and ports stay, `up` resumes it."""
    lab = existing(name)
    with progress(f"lab {name}") as steps:
        steps.note("stopping")
        stopped = stop(lab)
    what = "stopped; its data stay" if stopped else "was not running"
    err.print(f"lab {name} {what}; resume: trimtab lab up{name_option(name)}", markup=False)


@app.command(name="list", help_epilogue=examples("trimtab lab list"))
def list_(*, json: Json = False) -> None:
    """Show all labs of this user."""
    seen = list(survey(home()))
    emit(seen, json, show_labs)


@app.command(
    help_epilogue=examples(
        "trimtab lab logs kube-scheduler -f", "trimtab lab logs supervisor -n 20"
    )
)
def logs(
    component: str,
    *,
    name: Name = "default",
    follow: Annotated[bool, Parameter(name=["--follow", "-f"], negative=())] = False,
    lines: Annotated[int, Parameter(name=["--lines", "-n"])] = 100,
) -> None:
    """Print the end of a component's log; `supervisor` has one too.

    Parameters
    ----------
    component
        Whose log; `trimtab lab status` lists them.
    follow
        Stay, and print what is added.
    lines
        How many lines of what is there.
    """
    lab = existing(name)
    log = lab.log(component)
    if not log.exists():
        known = ", ".join(sorted(file.stem for file in lab.logs.glob("*.log")))
        raise ConfigError(f'lab {name} has no log of "{component}"; it has {known or "none"}')
    end = log_files.size(log)
    for line in log_files.tail(log, lines):
        print(line)
    if follow:
        for text in log_files.follow(log, end):
            print(text, end="", flush=True)


@app.command(help_epilogue=examples("trimtab lab restart kube-scheduler"))
def restart(component: str, *, name: Name = "default") -> int:
    """Stop one component in order and start it again; returns when it is ready."""
    lab = existing(name)
    control.ask(lab, control.RestartComponent(component), timeout_s=120.0)
    unit = next(unit for unit in look(lab).units if unit.name == component)
    err.print(f"{component}: {unit.state} {unit.message}".rstrip(), markup=False)
    return 0 if unit.state == "ready" else 1


@app.command(
    help_flags=[],  # kubectl has a --help and a --version of its own
    version_flags=[],
    end_of_options_delimiter="",
    help_epilogue=examples(
        "trimtab lab kubectl get nodes", "trimtab lab kubectl --name second get pods -A"
    ),
)
def kubectl(
    *arguments: Annotated[str, Parameter(allow_leading_hyphen=True)], name: Name = "default"
) -> NoReturn:
    """Run kubectl against a lab, as its administrator; all other options are kubectl's."""
    try:
        program, lab = str(context.locate("kubectl")), existing(name)
    except TrimtabError as error:
        if arguments[:1] not in (("--help",), ("-h",)):
            raise
        print(_KUBECTL_HELP.format(error))  # kubectl's own help needs kubectl
        sys.exit(0)
    # What kubectl knows of a server it keeps by port, and another lab may have had this one.
    own = {"KUBECONFIG": str(lab.kubeconfig), "KUBECACHEDIR": str(lab.path / "kubectl-cache")}
    if note := processes_not_pods(arguments):
        print(note, file=sys.stderr)
    sys.stdout.flush()
    os.execve(program, ["kubectl", *arguments], {**os.environ, **own})


_PARTS = {
    "vm-controller": "vm-controller",
    "eviction-webhook": "webhook",
    "metrics-exporter": "exporter",
    "descheduler": "descheduler",
    "prometheus": "prometheus",
}


def processes_not_pods(arguments: tuple[str, ...]) -> str:
    """A note for those who look for the pods of a service, which is a process in a lab."""
    asked = " ".join(arguments)
    for part, component in _PARTS.items():
        if f"app={part}" in asked or f"deployment/{part}" in asked:
            return (
                f"note: in a lab {part} is a process, not a pod; see: trimtab lab status, "
                f"trimtab lab logs {component}"
            )
    return ""


@app.command(help_epilogue=examples("export KUBECONFIG=$(trimtab lab kubeconfig)"))
def kubeconfig(*, name: Name = "default") -> None:
    """Print where a lab's kubeconfig is."""
    print(existing(name).kubeconfig)


@app.command(help_epilogue=examples("trimtab lab wipe --name second --yes"))
def wipe(*, name: Name = "default", yes: Flag = False) -> int:
    """Remove a stopped lab with all its data; asks first.

    Parameters
    ----------
    yes
        Do not ask.
    """
    lab = existing(name)
    check_stopped(lab)
    if not yes and not sys.stdin.isatty():
        raise ConfigError("wipe asks first, and there is no terminal to ask on; use --yes")
    if not yes and not agreed(f"Remove {lab.path} with all its data?"):
        err.print("nothing was removed")
        return 1
    remove(lab)
    err.print(f"lab {name} removed", markup=False)
    return 0


@app.command(help_epilogue=examples("trimtab lab bundle", "trimtab lab bundle /tmp/lab.tar.gz"))
def bundle(file: Path | None = None, *, name: Name = "default") -> None:
    """Pack logs, versions and status into one archive for a bug report; no keys, no tokens.

    Parameters
    ----------
    file
        Where to write it; otherwise trimtab-lab-NAME.tar.gz in this directory.
    """
    target = file or Path(f"trimtab-lab-{name}.tar.gz")
    write_bundle(existing(name), target)
    print(target)
