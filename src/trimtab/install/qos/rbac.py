"""The role of people who read the page; what the service itself may do is in its declaration."""

from trimtab.install.rights import Manifest, granted, role_manifest
from trimtab.install.services.qos import SERVICE

PAGE_READER = "trimtab:qos-page"


def qos_rbac() -> list[Manifest]:
    """The service's roles, and the one to bind readers of the page to."""
    return [*granted(SERVICE.name, SERVICE.roles()), page_reader()]


def page_reader() -> Manifest:
    """What somebody needs to read the page where it is exposed; bind it to them."""
    paths = ["/", "/v1/*", "/metrics"]
    rule = {"nonResourceURLs": paths, "verbs": ["get"]}
    return role_manifest("ClusterRole", {"name": PAGE_READER}, [rule])
