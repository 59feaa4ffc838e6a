"""How the operator is set up; each field is an option of `trimtab run advisor`."""

from pathlib import Path
from typing import Annotated

from trimtab import __version__
from trimtab.errors import ConfigError
from trimtab.kube.runtime.options import INTERNAL, Listening, Port
from trimtab.model.names import SYSTEM_NAMESPACE

NAMESPACE = SYSTEM_NAMESPACE
NAME = "advisor"
ADVERTISED = "advertised"
"""Path that tells whether every profile is there to be looked at."""


class AdvisorSettings(Listening, frozen=True, kw_only=True):
    """The operator's options."""

    port: Port = 8444
    certificate: Path | None = None
    """PEM file with the certificate to serve TLS with; without it, plain HTTP."""
    key: Path | None = None
    """PEM file with its key."""
    self_signed: bool = False
    """Serve TLS with a certificate made at the start."""
    open_metrics: bool = False
    """Serve /metrics to everybody who reaches the port."""
    advertise: bool = True
    """Create a VirtPlatformConfig with action Ignore for every profile that has none."""
    namespace: str = NAMESPACE
    """Where the lease and the records for the way back are kept."""
    version: Annotated[str, INTERNAL] = __version__
    spacing_s: Annotated[float, INTERNAL] = 1.0
    """The least time between two looks at one object, whatever happens around it."""

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise ConfigError("--certificate and --key belong together; give both or none")
