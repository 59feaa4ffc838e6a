"""Every port that a lab asks for: the control plane's, the programs' and the services'."""

from trimtab.install import registry
from trimtab.lab.components.control_plane import PORTS as CONTROL_PLANE
from trimtab.stacks.registry import KUBEVIRT_PROGRAMS, PROGRAMS, all_services


def lab_ports() -> dict[str, int]:
    """Every port that a lab with all stacks asks for, by name."""
    return CONTROL_PLANE | PROGRAMS | KUBEVIRT_PROGRAMS | registry.ports(all_services())
