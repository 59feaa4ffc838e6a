"""A control plane on this computer: components as data, one supervisor that executes them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trimtab.lab.components.component import Component, LabPlan, SupervisorTask
    from trimtab.lab.components.identity import ClientCert, ServerCert, ServiceIdentity
    from trimtab.lab.components.stack import CA_BUNDLE, CA_TEXT, NONE, Lab, Stack, StackContribution
    from trimtab.lab.control import LabStatus, UnitEvent, UnitStatus
    from trimtab.lab.files.layout import Home, LabDir
    from trimtab.lab.inspection import look, survey
    from trimtab.lab.spec import LabClock, LabSpec, NodeSize
    from trimtab.lab.starting.resolve_request import LabRequest
    from trimtab.lab.starting.start import Means, stay_up, up
    from trimtab.lab.stop import down, wipe

__all__ = [
    "CA_BUNDLE",
    "CA_TEXT",
    "NONE",
    "ClientCert",
    "Component",
    "Home",
    "Lab",
    "LabClock",
    "LabDir",
    "LabPlan",
    "LabRequest",
    "LabSpec",
    "LabStatus",
    "Means",
    "NodeSize",
    "ServerCert",
    "ServiceIdentity",
    "Stack",
    "StackContribution",
    "SupervisorTask",
    "UnitEvent",
    "UnitStatus",
    "down",
    "look",
    "stay_up",
    "survey",
    "up",
    "wipe",
]

_NAMES = {
    "components.component": ("Component", "LabPlan", "SupervisorTask"),
    "components.identity": ("ClientCert", "ServerCert", "ServiceIdentity"),
    "components.stack": ("CA_BUNDLE", "CA_TEXT", "Lab", "NONE", "Stack", "StackContribution"),
    "control": ("LabStatus", "UnitEvent", "UnitStatus"),
    "files.layout": ("Home", "LabDir"),
    "inspection": ("look", "survey"),
    "spec": ("LabClock", "LabSpec", "NodeSize"),
    "starting.resolve_request": ("LabRequest",),
    "starting.start": ("Means", "stay_up", "up"),
    "stop": ("down", "wipe"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: who asks for a lab's status needs nothing of its start."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
