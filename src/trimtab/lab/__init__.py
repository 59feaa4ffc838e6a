"""A control plane on this computer: components as data, one supervisor that executes them."""

from trimtab.lab.component import Component, Plan, Task
from trimtab.lab.down import down, wipe
from trimtab.lab.identity import ClientCert, ServerCert, Service
from trimtab.lab.layout import Home, LabDir
from trimtab.lab.look import look, survey
from trimtab.lab.settle import Wish
from trimtab.lab.spec import Clock, LabSpec, NodeSize
from trimtab.lab.stack import NONE, Contribution, Lab, Stack
from trimtab.lab.status import Event, LabStatus, UnitStatus
from trimtab.lab.up import Means, stay_up, up

__all__ = [
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
