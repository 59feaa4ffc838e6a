"""All services that `trimtab run` knows, and all ports of a lab.

The services are the modules of the packages that declare them: one for clusters, one for labs.
"""

import importlib
import pkgutil

from trimtab.install import services as in_clusters
from trimtab.install.service import ServiceSpec, ports_of
from trimtab.stacks import services as in_labs

PROGRAMS = {"prometheus": 9090, "descheduler": 10258}
"""Ports of the loop's programs that are not ours."""
KUBEVIRT_PROGRAMS = {"virt-api": 8448, "virt-controller": 8449}


def service_names() -> list[str]:
    """Names of all services, found without importing any of them."""
    return sorted(_modules())


def find_service(name: str) -> ServiceSpec:
    """The declaration of one service; it imports what that needs and no other service."""
    service: ServiceSpec = importlib.import_module(_modules()[name]).SERVICE
    return service


def all_services() -> list[ServiceSpec]:
    return [find_service(name) for name in service_names()]


def _modules() -> dict[str, str]:
    return {
        module.name.replace("_", "-"): f"{package.__name__}.{module.name}"
        for package in (in_clusters, in_labs)
        for module in pkgutil.iter_modules(package.__path__)
    }


def lab_ports() -> dict[str, int]:
    """Every port that a lab with all stacks asks for, by name."""
    from trimtab.lab.components.control_plane import PORTS as CONTROL_PLANE

    return CONTROL_PLANE | PROGRAMS | KUBEVIRT_PROGRAMS | ports_of(all_services())
