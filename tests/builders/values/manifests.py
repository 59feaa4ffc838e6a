"""The manifests of k8s/ as Python values, read from the files as a user applies them."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parents[3]
K8S = REPOSITORY / "k8s"
Manifest = dict[str, Any]


@cache
def documents(name: str) -> list[Manifest]:
    """The objects in a file of k8s/, read once: nobody may change them."""
    text = (K8S / name).read_text()
    return [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]


def base() -> list[Manifest]:
    """Everything that `kubectl apply -k k8s/` applies, in the order of the kustomization."""
    (kustomization,) = documents("kustomization.yaml")
    return [each for name in kustomization["resources"] for each in documents(name)]


def of_kind(kind: str) -> list[Manifest]:
    return [each for each in base() if each["kind"] == kind]


def one(kind: str, name: str) -> Manifest:
    """The object of the base with this kind and name."""
    (found,) = [each for each in of_kind(kind) if each["metadata"]["name"] == name]
    return found


def containers() -> Iterator[tuple[str, Manifest]]:
    """Every container of every Deployment, with the Deployment's name."""
    for deployment in of_kind("Deployment"):
        for container in deployment["spec"]["template"]["spec"]["containers"]:
            yield deployment["metadata"]["name"], container
