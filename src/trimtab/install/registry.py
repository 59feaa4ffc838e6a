"""Which services there are: the modules of the packages that declare them."""

import importlib
import pkgutil
from collections.abc import Iterable
from types import ModuleType

from trimtab.install.service import ServiceSpec


def service_names(*packages: ModuleType) -> list[str]:
    """Names of all services, found without importing any of them."""
    return sorted(_named(each.name) for p in packages for each in pkgutil.iter_modules(p.__path__))


def find_service(name: str, *packages: ModuleType) -> ServiceSpec:
    """The declaration of one service; it imports what that needs and no other service."""
    for package in packages:
        if name in service_names(package):
            return _declaration(f"{package.__name__}.{name.replace('-', '_')}")
    raise KeyError(name)


def all_services(*packages: ModuleType) -> list[ServiceSpec]:
    return [find_service(name, *packages) for name in service_names(*packages)]


def _named(module: str) -> str:
    return module.replace("_", "-")


def _declaration(module: str) -> ServiceSpec:
    service: ServiceSpec = importlib.import_module(module).SERVICE
    return service


def ports(services: Iterable[ServiceSpec]) -> dict[str, int]:
    """The table of ports, as a lab asks for them."""
    return {name: port for each in services for name, port in each.ports.items()}
