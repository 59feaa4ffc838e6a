"""How the operator is set up."""

from msgspec import Struct

from trimtab import __version__
from trimtab.model.names import SYSTEM_NAMESPACE

NAMESPACE = SYSTEM_NAMESPACE
NAME = "advisor"
ADVERTISED = "advertised"
"""Path that tells whether every profile is there to be looked at."""


class Settings(Struct, frozen=True, kw_only=True):
    """The operator's options."""

    namespace: str = NAMESPACE
    """Where the records of prior values and the lease are kept."""
    version: str = __version__
    advertise: bool = True
    """Create an object with action Ignore for every profile that wants to be found."""
    spacing_s: float = 1.0
    """The least time between two looks at one object, whatever happens around it."""
