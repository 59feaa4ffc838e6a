"""Names of Kubernetes objects: which are possible, and where our own services live."""

import re

SYSTEM_NAMESPACE = "trimtab-system"
"""Where services, their accounts, leases and the clock live, in clusters and in labs."""
MAX_OBJECT_NAME = 253
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
OBJECT_NAME = rf"{_LABEL}(\.{_LABEL})*"
"""A DNS subdomain, as the API server wants it; the same text in Python and in a CRD."""
_OBJECT_NAME = re.compile(OBJECT_NAME, re.ASCII)


def is_object_name(name: str) -> bool:
    return len(name) <= MAX_OBJECT_NAME and _OBJECT_NAME.fullmatch(name) is not None
