"""A control plane on this computer: components as data, one supervisor that executes them."""

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
