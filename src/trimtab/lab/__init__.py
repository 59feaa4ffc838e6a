"""A control plane on this computer: components as data, one supervisor that executes them."""

from trimtab.lab.components.component import Component, Plan, Task
from trimtab.lab.components.identity import ClientCert, ServerCert, Service
from trimtab.lab.components.stack import CA_BUNDLE, CA_TEXT, NONE, Contribution, Lab, Stack
from trimtab.lab.control import Event, LabStatus, UnitStatus
from trimtab.lab.files.layout import Home, LabDir
from trimtab.lab.inspection import look, survey
from trimtab.lab.spec import Clock, LabSpec, NodeSize
from trimtab.lab.starting.settle import Wish
from trimtab.lab.starting.start import Means, stay_up, up
from trimtab.lab.stop import down, wipe

__all__ = [
    "CA_BUNDLE",
    "CA_TEXT",
    "NONE",
    "ClientCert",
    "Clock",
    "Component",
    "Contribution",
    "Event",
    "Home",
    "Lab",
    "LabDir",
    "LabSpec",
    "LabStatus",
    "Means",
    "NodeSize",
    "Plan",
    "ServerCert",
    "Service",
    "Stack",
    "Task",
    "UnitStatus",
    "Wish",
    "down",
    "look",
    "stay_up",
    "survey",
    "up",
    "wipe",
]
