"""Commands that lead to a lab's API server and logs: they only find files, and must be quick."""

import os
import sys
from typing import Annotated, NoReturn

from cyclopts import Parameter

from trimtab.cli.lab import context
from trimtab.cli.lab.context import Name, existing
from trimtab.errors import ConfigError, TrimtabError
from trimtab.lab.files import logs as log_files

_KUBECTL_HELP = """\
Usage: trimtab lab kubectl [--name LAB] ARGUMENTS

Run kubectl against a lab, as its administrator; all other options are kubectl's.
kubectl's own help is shown here when there are programs and a lab: {}

Examples:
  trimtab lab kubectl get nodes
  trimtab lab kubectl --name second get pods -A"""


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


def kubeconfig(*, name: Name = "default") -> None:
    """Print where a lab's kubeconfig is."""
    print(existing(name).kubeconfig)
