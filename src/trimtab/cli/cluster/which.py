"""Which cluster is meant: one rule for every command that talks to one.

The order: `--kubeconfig` and `--context`, `--lab`, `TRIMTAB_LAB`, `KUBECONFIG`, the lab
`default` if there is one, `~/.kube/config`, in a pod its own cluster. What was taken is said
in one line on stderr, because the commands that change something change it there.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.errors import ConfigError

if TYPE_CHECKING:  # options are made of this, and a --help connects to nothing
    from trimtab.kube.client import Client
    from trimtab.lab.files.layout import LabDir

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
ENV_LAB, ENV_FILES = "TRIMTAB_LAB", "KUBECONFIG"
MANAGER = "trimtab-cli"


@dataclass(frozen=True)
class Cluster:
    """The cluster that is meant: a lab, kubeconfig files, or that of this pod."""

    files: tuple[Path, ...] = ()
    """None for the cluster of this pod."""
    context: str | None = None
    lab: "LabDir | None" = None
    because: str = ""
    """The option or variable that decided; empty for what is taken without being asked for."""

    def __str__(self) -> str:
        if self.lab is not None:
            what = f"lab {self.lab.name}"
        elif self.files:
            what = ", ".join(map(str, self.files))
            what += f", context {self.context}" if self.context else ""
        else:
            what = "the one of this pod"
        return f"{what} ({self.because})" if self.because else what

    def connect(self) -> "Client":
        """A client of it; nothing is sent yet."""
        from trimtab.kube.client import Client

        if not self.files:
            return Client.in_cluster(manager=MANAGER)
        return Client.from_kubeconfig(self.files, context=self.context, manager=MANAGER)


def which_cluster(
    kubeconfig: Path | None = None,
    context: str = "",
    lab: str = "",
    environment: Mapping[str, str] | None = None,
) -> Cluster:
    """The first of the order that is there; what an option or a variable names must be there."""
    env = os.environ if environment is None else environment
    if lab and (kubeconfig is not None or context):
        other = "--context" if kubeconfig is None else "--kubeconfig"
        raise ConfigError(f"{other} and --lab name two clusters; give one of them")
    if kubeconfig is not None:
        return Cluster((kubeconfig,), context or None, because="--kubeconfig")
    if context:
        files = _files(env) or (_usual(env),)
        return Cluster(files, context, because="--context")
    if lab or env.get(ENV_LAB):
        return _lab(lab or env[ENV_LAB], "--lab" if lab else ENV_LAB)
    if files := _files(env):
        return Cluster(files, lab=_lab_of(files), because=ENV_FILES)
    return _unasked(env)


def say(cluster: Cluster) -> Cluster:
    """Tell on stderr which one it is."""
    from trimtab.view.terminal import err

    err.print(f"cluster: {cluster}", markup=False)
    return cluster


def _unasked(env: Mapping[str, str]) -> Cluster:
    from trimtab.cli.lab.context import home
    from trimtab.lab.spec import DEFAULT_NAME

    if home().lab(DEFAULT_NAME).spec_file.exists():
        return _lab(DEFAULT_NAME, "")
    if _usual(env).exists():
        return Cluster((_usual(env),))
    if SERVICE_ACCOUNT.exists():
        return Cluster()
    labs = ", ".join(lab.name for lab in home().labs())
    known = f"the labs there are: {labs}" if labs else "make a lab: trimtab lab up"
    raise ConfigError(
        f"which cluster? give --kubeconfig, --context or --lab, or set KUBECONFIG ({known})"
    )


def _lab(name: str, because: str) -> Cluster:
    from trimtab.cli.lab.context import existing

    lab = existing(name)
    return Cluster((lab.kubeconfig,), lab=lab, because=because)


def _files(env: Mapping[str, str]) -> tuple[Path, ...]:
    return tuple(Path(each) for each in env.get(ENV_FILES, "").split(os.pathsep) if each)


def _usual(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home()) / ".kube" / "config"


def _lab_of(files: tuple[Path, ...]) -> "LabDir | None":
    """The lab whose kubeconfig is named: `export KUBECONFIG=$(trimtab lab kubeconfig)`."""
    from trimtab.cli.lab.context import home

    if len(files) != 1:
        return None
    file = files[0].absolute()
    return next((lab for lab in home().labs() if lab.kubeconfig.absolute() == file), None)
