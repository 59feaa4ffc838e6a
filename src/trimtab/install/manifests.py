"""Manifests as files: documents, the note at their top, and the few objects that all share."""

from collections.abc import Iterable
from typing import Any

import msgspec

from trimtab.files.yaml import as_yaml
from trimtab.model.names import SYSTEM_NAMESPACE

Manifest = dict[str, Any]
_LEVEL = "pod-security.kubernetes.io/enforce"


def head(source: str, note: str = "") -> str:
    """The first lines of a file that `source` (a path below src/) generates."""
    lines = [f"Written by `make generate` from {source}; change it there.", *note.splitlines()]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def documents(manifests: Iterable[Manifest]) -> str:
    """YAML documents without anchors: a reader looks for a value where it is used."""
    apart = (msgspec.json.decode(msgspec.json.encode(each)) for each in manifests)
    return "---\n".join(as_yaml(each) for each in apart)


def account(name: str, namespace: str = SYSTEM_NAMESPACE) -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def namespace(name: str = SYSTEM_NAMESPACE) -> Manifest:
    """As in k8s/namespaces.yaml, so that either may be applied first."""
    labels = {
        "app.kubernetes.io/part-of": "trimtab",
        _LEVEL: "restricted",
        f"{_LEVEL}-version": "latest",
    }
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def kustomization(*resources: str) -> Manifest:
    kind = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    return kind | {"resources": list(resources)}
