"""What the `trimtab lab` commands take from their surroundings: directories and engines."""

import os
from pathlib import Path
from typing import Annotated

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


def locate(program: str) -> Path:
    """A built program in this user's cache."""
    return locate_engine(program, cache_dir(os.environ))
