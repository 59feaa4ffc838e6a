"""Looking at labs from outside: which there are, and how they are, running or not."""

from collections.abc import Iterator

import msgspec

from trimtab.errors import ConfigError, NotReady, Unavailable
from trimtab.files.lock import is_held
from trimtab.lab import control
from trimtab.lab.components.stack import Lab
from trimtab.lab.control import LabStatus, Phase
from trimtab.lab.files.layout import Home, LabDir
from trimtab.lab.process import SupervisorRun
from trimtab.lab.spec import LabSpec, name_option

SUPERVISOR_LOCK = "supervisor.lock"


def is_running(lab: LabDir) -> bool:
    """Is there a supervisor? Its lock says so, whatever pids were written down."""
    return is_held(lab.path / SUPERVISOR_LOCK)


def read_run(lab: LabDir) -> SupervisorRun | None:
    """The record of the supervisor that runs, or of one that was killed."""
    try:
        return msgspec.json.decode(lab.run_file.read_bytes(), type=SupervisorRun)
    except (FileNotFoundError, ValueError):  # torn by a crash: as good as none
        return None


def look(lab: LabDir) -> LabStatus:
    """The lab's status; NotReady if there is no such lab."""
    spec = lab.read_spec()
    if spec is None:
        raise NotReady(f'no lab "{lab.name}"; make it: trimtab lab up{name_option(lab.name)}')
    if not is_running(lab):
        return _at_rest(lab, spec)
    try:
        return control.read_status(lab)
    except (NotReady, Unavailable) as error:
        text = f"the supervisor runs but does not answer yet: {error}"
        return _outline(lab, spec, "starting", text)


def survey(home: Home) -> Iterator[LabStatus]:
    """Every lab of this user."""
    for lab in home.labs():
        try:
            yield look(lab)
        except ConfigError as error:  # one damaged lab must not hide the others
            yield LabStatus(name=lab.name, phase="stopped", dir=str(lab.path), message=str(error))


def _at_rest(lab: LabDir, spec: LabSpec) -> LabStatus:
    again = f"resume: trimtab lab up{name_option(lab.name)}"
    run = read_run(lab)
    if run is None:
        return _outline(lab, spec, "stopped", f"not running; {again}")
    gone = f"its supervisor (pid {run.supervisor.pid}) was killed, and everything with it"
    return _outline(lab, spec, "died", f"{gone}; nothing is running; {again}")


def _outline(lab: LabDir, spec: LabSpec, phase: Phase, message: str) -> LabStatus:
    return LabStatus(
        name=spec.name,
        phase=phase,
        dir=str(lab.path),
        message=message,
        stacks=spec.stacks,
        nodes=spec.nodes,
        scale=spec.clock.scale,
        server=Lab(lab.path, spec, lab.path.joinpath).server,
        ports=spec.ports,
    )
