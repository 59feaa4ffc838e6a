"""Commands for a lab as a whole, running or not: list, stop, restart a part, remove, pack."""

import sys
from pathlib import Path

from trimtab.cli.common.output import Flag, Json, agreed, emit
from trimtab.cli.lab.context import Name, existing, home
from trimtab.errors import ConfigError
from trimtab.lab import control
from trimtab.lab.files.bundle import write_bundle
from trimtab.lab.inspection import look, survey
from trimtab.lab.spec import name_option
from trimtab.lab.stop import check_stopped
from trimtab.lab.stop import down as stop
from trimtab.lab.stop import wipe as remove
from trimtab.view.lab import show_labs
from trimtab.view.terminal import err, progress


def down(*, name: Name = "default") -> None:
    """Stop a lab in order; its data and ports stay, `up` resumes it."""
    lab = existing(name)
    with progress(f"lab {name}") as steps:
        steps.note("stopping")
        stopped = stop(lab)
    what = "stopped; its data stay" if stopped else "was not running"
    err.print(f"lab {name} {what}; resume: trimtab lab up{name_option(name)}", markup=False)


def list_(*, json: Json = False) -> None:
    """Show all labs of this user."""
    seen = list(survey(home()))
    emit(seen, json, show_labs)


def restart(component: str, *, name: Name = "default") -> int:
    """Stop one component in order and start it again; returns when it is ready."""
    lab = existing(name)
    control.ask(lab, control.RestartComponent(component), timeout_s=120.0)
    unit = next(unit for unit in look(lab).units if unit.name == component)
    err.print(f"{component}: {unit.state} {unit.message}".rstrip(), markup=False)
    return 0 if unit.state == "ready" else 1


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
