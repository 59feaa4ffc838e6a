"""How the player is set up; each field is an option of `trimtab run virt-handler-player`."""

from pathlib import Path
from typing import Annotated

from trimtab.errors import ConfigError
from trimtab.kube.runtime.options import Bytes, Listening, Option, Port
from trimtab.virt.precopy import DEFAULT_BANDWIDTH


class PlayerSettings(Listening, frozen=True, kw_only=True):
    """The options of the player of KubeVirt's handlers."""

    port: Port = 8091
    handler_kubeconfig: Path
    """How to reach the API server as KubeVirt's own account kubevirt-handler."""
    bandwidth: Bytes = DEFAULT_BANDWIDTH
    """Bytes per second that a node can send, and receive, for migrations."""
    dirty_rate: Bytes = 0.0
    """Bytes per second that a guest changes, unless its VMI says otherwise."""
    cpu_model: Annotated[tuple[str, ...], Option(several=True, write=tuple)] = (
        "Intel:Skylake-Server",
    )
    """VENDOR:MODEL, oldest first; they go round the nodes in turn."""

    def __post_init__(self) -> None:
        if self.bandwidth <= 0 or self.dirty_rate < 0:
            raise ConfigError("--bandwidth must be above 0 and --dirty-rate not below it")
        for text in self.cpu_model:
            if text.count(":") != 1:
                raise ConfigError(f"--cpu-model {text}: write it like Intel:Skylake-Server")
