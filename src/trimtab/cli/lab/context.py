"""What the `trimtab lab` commands take from their surroundings: directories and engines."""

import os
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from trimtab.engines import cache_dir
from trimtab.engines import locate as locate_engine
from trimtab.errors import ConfigError
from trimtab.lab.files.layout import Home, LabDir
from trimtab.lab.spec import name_option

Name = Annotated[str, Parameter(name="--name", env_var="TRIMTAB_LAB", help="Which lab.")]


def home() -> Home:
    """All labs of this user: `$XDG_STATE_HOME/trimtab`."""
    base = os.environ.get("XDG_STATE_HOME", "")
    if not Path(base).is_absolute():  # the XDG specification: ignore a relative one
        base = str(Path(os.environ.get("HOME") or Path.home()) / ".local" / "state")
    return Home(Path(base) / "trimtab")


def existing(name: str) -> LabDir:
    """The lab of that name, or an error that names those there are."""
    lab = home().lab(name)
    if not lab.spec_file.exists():
        others = ", ".join(other.name for other in home().labs())
        hint = f"there are: {others}" if others else "there are none"
        raise ConfigError(f'no lab "{name}" ({hint}); make it: trimtab lab up{name_option(name)}')
    return lab


def kept_settings(lab: LabDir, stack: str) -> dict[str, Any] | None:
    """What a lab remembers of a stack; None where it has not had it."""
    spec = lab.read_spec()
    return spec.settings.get(stack) if spec is not None else None


def refuse_while_running(lab: LabDir, what: str, instead: str = "") -> None:
    """`what` says what a running lab does not let happen, `instead` what is possible."""
    from trimtab.lab.inspection import is_running

    if is_running(lab):
        raise ConfigError(
            f"lab {lab.name} is running, so {what}; "
            f"stop it first: trimtab lab down{name_option(lab.name)}{instead}"
        )


def locate(program: str) -> Path:
    """A built program in this user's cache."""
    return locate_engine(program, cache_dir(os.environ))
