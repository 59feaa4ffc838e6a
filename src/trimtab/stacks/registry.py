"""All services that `trimtab run` knows: those of clusters, and those of labs only."""

from trimtab.install import registry
from trimtab.install import services as in_clusters
from trimtab.install.service import ServiceSpec
from trimtab.stacks import services as in_labs

PROGRAMS = {"prometheus": 9090, "descheduler": 10258}
"""Ports of the loop's programs that are not ours."""
KUBEVIRT_PROGRAMS = {"virt-api": 8448, "virt-controller": 8449}
PACKAGES = (in_clusters, in_labs)


def service_names() -> list[str]:
    """What `trimtab run` can run."""
    return registry.service_names(*PACKAGES)


def find_service(name: str) -> ServiceSpec:
    return registry.find_service(name, *PACKAGES)


def all_services() -> list[ServiceSpec]:
    return registry.all_services(*PACKAGES)
