"""Which services there are: the modules of the packages that declare them."""

import ast
import importlib
import pkgutil
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from trimtab.install.service import ServiceSpec, reflowed


def service_names(*packages: ModuleType) -> list[str]:
    """Names of all services, found without importing any of them."""
    return sorted(_named(each.name) for p in packages for each in pkgutil.iter_modules(p.__path__))


def help_texts(*packages: ModuleType) -> dict[str, str]:
    """The help of each service, read from the source of its declaration alone."""
    found = {}
    for package in packages:
        for file in Path(package.__path__[0]).glob("[a-z]*.py"):
            found[_named(file.stem)] = reflowed(ast.get_docstring(ast.parse(file.read_text())))
    return dict(sorted(found.items()))


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
