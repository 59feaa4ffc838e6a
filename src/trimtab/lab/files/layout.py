"""Where a lab keeps its files. The directory is 0700; whatever holds a key or a token is 0600.

Components run with this directory as their working directory, so they name files relative to
it; that also keeps the paths of unix sockets short, which may have 107 bytes and no more.
"""

from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.lab.components.component import LabPlan
from trimtab.lab.spec import VERSION, LabSpec, check_name, name_option


class LabDir(Struct, frozen=True):
    """The directory of one lab; it may not exist yet."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def spec_file(self) -> Path:
        return self.path / "lab.json"

    @property
    def plan_file(self) -> Path:
        return self.path / "plan.json"

    @property
    def kubeconfig(self) -> Path:
        return self.path / "kubeconfig"

    @property
    def pki(self) -> Path:
        return self.path / "pki"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def scratch(self) -> Path:
        """The components' temporary files; emptied when the lab starts and when it stops."""
        return self.path / "tmp"

    @property
    def run_file(self) -> Path:
        """The supervisor's record of itself and its children; gone after an orderly stop."""
        return self.path / "run.json"

    def log(self, component: str) -> Path:
        return self.logs / f"{component}.log"

    def read_spec(self) -> LabSpec | None:
        """The lab as it was last started, or None if there is no such lab."""
        try:
            data = self.spec_file.read_bytes()
        except FileNotFoundError:
            return None
        return _decode_spec(data, self)

    def read_plan(self) -> LabPlan:
        return msgspec.json.decode(self.plan_file.read_bytes(), type=LabPlan)


class Home(Struct, frozen=True):
    """All labs of one user: `$XDG_STATE_HOME/trimtab`."""

    path: Path

    def turn_lock(self, lab: LabDir) -> Path:
        """Held by the one process that makes or resumes this lab now."""
        return self.path / "locks" / f"{lab.name}.lock"

    def lab(self, name: str) -> LabDir:
        return LabDir(self.path / "labs" / check_name(name))

    def labs(self) -> list[LabDir]:
        """Every lab with a `lab.json`, by name."""
        return [LabDir(f.parent) for f in sorted(self.path.glob("labs/*/lab.json"))]

    def all_ports(self) -> dict[str, dict[str, int]]:
        """The ports of every lab, stopped ones included; an unreadable lab has none."""
        ports: dict[str, dict[str, int]] = {}
        for lab in self.labs():
            with suppress(ConfigError):
                spec = lab.read_spec()
                ports[lab.name] = spec.ports if spec else {}
        return ports


def _decode_spec(data: bytes, lab: LabDir) -> LabSpec:
    try:
        spec = msgspec.json.decode(data, type=LabSpec)
    except ValueError as error:  # also of texts that are not UTF-8
        raise ConfigError(
            f"{lab.spec_file}: {error}; remove the lab: trimtab lab wipe{name_option(lab.name)}"
        ) from error
    if spec.version != VERSION:
        raise ConfigError(
            f"{lab.spec_file}: version {spec.version}, this trimtab knows {VERSION}; "
            f"remove the lab: trimtab lab wipe{name_option(lab.name)}"
        )
    return spec
