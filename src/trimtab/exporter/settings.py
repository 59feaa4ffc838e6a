"""How the exporter is set up; each field is an option of `trimtab run exporter`."""

from pathlib import Path
from typing import Annotated

import msgspec

from trimtab.errors import ConfigError
from trimtab.kube.runtime.options import Listening, Option, Port
from trimtab.model.load.pressure_curve import DEFAULT_PRESSURE, PressureCurve
from trimtab.virt.launcher import SCHEDULABLE

NAME = "exporter"


def pressure_from(text: str, option: str = "--pressure") -> PressureCurve:
    """The pressure curve in JSON, as a scenario file has it."""
    try:
        return msgspec.json.decode(text, type=PressureCurve)
    except (msgspec.MsgspecError, ConfigError) as error:
        raise ConfigError(f"{option}: {error}") from error


def _as_json(curve: PressureCurve) -> str:
    return msgspec.json.encode(curve).decode()


class ExporterSettings(Listening, frozen=True, kw_only=True):
    """The exporter's options."""

    port: Port = 8000
    listen: str = ""
    """Address and port in one, as 127.0.0.1:8000; it goes before --host and --port."""
    production: Annotated[bool, Option(names=("--node-exporter",))] = False
    """Add the counters that production rules read; scrape with honor_labels."""
    allow_scenario: bool = False
    """Let POST /scenario and /feedback create VMs and migrations."""
    token_file: Path | None = None
    """A file with a token: only with it may one write. Without the option, this computer may."""
    scenario: str | None = None
    """A scenario file whose VMs are created at the start; file.json#name chooses one of several."""
    namespace: str = "default"
    """Where VMs of scenarios are created, and VMs are meant that are named without one."""
    node_selector: str = f"{SCHEDULABLE}=true"
    """Labels of the nodes that have metrics: those that the descheduler looks at."""
    pressure: Annotated[PressureCurve, Option(parse=pressure_from, write=_as_json, shown=False)] = (
        DEFAULT_PRESSURE
    )
    """The pressure curve of a scenario file, as JSON."""

    def __post_init__(self) -> None:
        if self.listen:
            address(self.listen)

    @property
    def place(self) -> tuple[str, int]:
        """Where it listens."""
        return address(self.listen) if self.listen else (self.host, self.port)


def address(text: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:8000`, `[::1]:8000` or `:8000` (every address)."""
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or int(port) > 65535:
        raise ConfigError(f"--listen: {text!r} is not an address; write it like 127.0.0.1:8000")
    return host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port)
