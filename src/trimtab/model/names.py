"""What can be the name of a Kubernetes object."""

import re

MAX_OBJECT_NAME = 253
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
OBJECT_NAME = rf"{_LABEL}(\.{_LABEL})*"
"""A DNS subdomain, as the API server wants it; the same text in Python and in a CRD."""
_OBJECT_NAME = re.compile(OBJECT_NAME, re.ASCII)


def is_object_name(name: str) -> bool:
    return len(name) <= MAX_OBJECT_NAME and _OBJECT_NAME.fullmatch(name) is not None
