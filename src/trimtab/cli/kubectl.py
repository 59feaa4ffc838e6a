"""`kubectl trimtab`: the same commands, on the cluster that kubectl talks to.

`kubectl trimtab plan` is `trimtab advisor plan`; other groups are named as always. The cluster
is that of $KUBECONFIG or ~/.kube/config, unless --kubeconfig, --context or --lab says otherwise;
a lab is never taken unasked, because kubectl would not talk to it.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

COMMANDS = (
    "plan",
    "diff",
    "approve",
    "apply",
    "status",
    "rollback",
    "history",
    "explain",
    "ignore",
    "accept",
)
"""Those of the advisor, which may be called without its name."""
_FILES = (".yaml", ".yml", ".json")

HELP = """\
Usage: kubectl trimtab COMMAND [OPTIONS]

trimtab on the cluster that kubectl talks to: $KUBECONFIG or ~/.kube/config, and its current
context. Every command takes --context, --kubeconfig and --help.

Look, without changing anything:
  snapshot    Write what a cluster is like now into a file
  explain     Why pods would be evicted, or why none: explain --live, or explain FILE
  lint        Find what is wrong with a descheduler policy: lint configmap, or lint FILE
  qos         Who has the promised availability, who waits, and why (needs --url)
  vm          VirtualMachines of trimtab.dev (not KubeVirt's)

Configure the cluster for VMs, as `trimtab advisor` does:
  plan        What would change                  approve     Let the operator carry it out
  diff        The same as differences only       status      How far it is
  apply       Hand a configuration over          rollback    Put back what was there before
  history     What was done                      explain     A profile or a phase, in words
  ignore      Leave a field to others            accept      Let drift stay as it is

All other commands need no cluster: trimtab --help
"""


def arguments(given: Sequence[str]) -> list[str]:
    """What `trimtab` is to be called with."""
    words = list(given)
    if not words or words[0] not in COMMANDS or _is_about_evictions(words):
        return words
    return ["advisor", *words]


def _is_about_evictions(words: Sequence[str]) -> bool:
    """`explain` has two meanings: of a snapshot or a live cluster, and of a profile or phase."""
    rest = words[1:]
    asks = any(word == "--live" or word.endswith(_FILES) for word in rest)
    return words[0] == "explain" and asks


def environment(given: Mapping[str, str], *, in_pod: bool) -> dict[str, str]:
    """The variables by which kubectl's cluster is found, and no lab."""
    env = {name: value for name, value in given.items() if name != "TRIMTAB_LAB"}
    usual = Path(env.get("HOME") or Path.home()) / ".kube" / "config"
    if not env.get("KUBECONFIG") and (usual.exists() or not in_pod):
        env["KUBECONFIG"] = str(usual)
    return env


def run() -> None:
    if sys.argv[1:] in ([], ["--help"], ["-h"], ["help"]):
        print(HELP, end="")
        return
    from trimtab.cli.cluster.which import SERVICE_ACCOUNT
    from trimtab.cli.main import run as trimtab

    sys.argv[1:] = arguments(sys.argv[1:])
    chosen = environment(os.environ, in_pod=SERVICE_ACCOUNT.exists())
    os.environ.pop("TRIMTAB_LAB", None)
    os.environ.update(chosen)
    trimtab()


if __name__ == "__main__":
    run()
