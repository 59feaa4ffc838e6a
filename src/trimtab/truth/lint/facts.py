"""What a policy is judged by: its text, and as much of its surroundings as was given."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.files.yaml import read_documents
from trimtab.model.snapshot import QueryResult, Snapshot

_VERSION = re.compile(r"v?(\d+)\.(\d+)")


class DeschedulerProgram(Struct, frozen=True):
    """The descheduler that reads the policy; `in_background` is None where it is not known."""

    name: str = ""
    version: str = ""
    in_background: bool | None = None
    openshift: bool | None = None
    """OpenShift's own build; None where it is not known."""

    @property
    def release(self) -> tuple[int, int] | None:
        """Major and minor."""
        found = _VERSION.match(self.version)
        return (int(found[1]), int(found[2])) if found else None


class Facts(Struct, frozen=True, kw_only=True):
    """Everything is optional but the policy: what is not given is not judged."""

    policy: str
    file: str = "policy"
    records: Mapping[str, str] | None = None
    """Recording rules by name, with their expressions."""
    query: QueryResult | None = None
    cluster: Snapshot | None = None
    """Nodes and pods; its own policy and query are not looked at."""
    program: DeschedulerProgram = DeschedulerProgram()
    acting_balancer: str = ""
    """The newest plan of a balancer that acts on the cluster."""


def records_of(text: str, file: str) -> dict[str, str]:
    """The recording rules of a file: Prometheus' own form, or PrometheusRule objects."""
    found: dict[str, str] = {}
    for document in read_documents(text, file):
        _collect(document, found, file)
    if not found:
        raise ConfigError(f"{file}: there are no recording rules in it; make some: trimtab rules")
    return found


def _collect(document: Any, found: dict[str, str], file: str) -> None:
    if not isinstance(document, dict):
        return
    if document.get("kind") == "ConfigMap":
        for text in (document.get("data") or {}).values():
            if "groups:" in text:
                for inner in read_documents(text, f"{file}: in the ConfigMap"):
                    _collect(inner, found, file)
        return
    groups = document.get("groups") or (document.get("spec") or {}).get("groups") or ()
    for group in groups:
        for rule in group.get("rules") or ():
            if "record" in rule:
                found[str(rule["record"])] = str(rule.get("expr", ""))
