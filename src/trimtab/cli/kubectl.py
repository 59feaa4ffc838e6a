"""`kubectl trimtab`: the same commands, on the cluster that kubectl talks to.

`kubectl trimtab plan` is `trimtab advisor plan`; other groups are named as always. The cluster
is that of $KUBECONFIG or ~/.kube/config, unless --kubeconfig or --lab says otherwise.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

COMMANDS = ("plan", "diff", "approve", "apply", "status", "rollback", "history", "explain")
"""Those of the advisor, which may be called without its name."""
_OFFLINE = ("--manifests", "--kubeconfig", "--lab", "--help", "-h")


def arguments(given: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """What `trimtab` is to be called with."""
    words = ["advisor", *given] if given and given[0] in COMMANDS else list(given)
    if words[:1] != ["advisor"] or "explain" in words[1:2]:
        return words
    if any(word.partition("=")[0] in _OFFLINE for word in words):
        return words
    return [*words, f"--kubeconfig={kubeconfig(environment)}"]


def kubeconfig(environment: Mapping[str, str]) -> Path:
    """The file that kubectl would read first."""
    for each in environment.get("KUBECONFIG", "").split(os.pathsep):
        if each and Path(each).exists():
            return Path(each)
    return Path(environment.get("HOME") or Path.home()) / ".kube" / "config"


def run() -> None:
    from trimtab.cli.main import run as trimtab

    sys.argv[1:] = arguments(sys.argv[1:], os.environ)
    trimtab()


if __name__ == "__main__":
    run()
