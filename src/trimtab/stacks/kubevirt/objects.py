"""KubeVirt's own install objects, changed where a lab is not a cluster.

The program `kubevirt-objects` prints what virt-operator would install. Here webhooks get the
address of the virt-api process, the CA bundles get the lab's CA, and the Service of the
sub-resources leads to this computer. Nothing else differs.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from trimtab.errors import TrimtabError
from trimtab.lab.components.stack import CA_BUNDLE, CA_TEXT
from trimtab.stacks.kubevirt.settings import NAMESPACE, KubevirtSettings

Manifest = dict[str, Any]
LIMIT_S = 60.0
GROUP_VERSION = "kubevirt.io/v1"
# Nobody serves the operator's webhook in a lab, and the launcher's is behind a feature gate.
LEFT_OUT = frozenset(("virt-operator-validator", "virt-launcher-pod-mutator"))
INSTALLED = frozenset(
    {
        *("PriorityClass", "CustomResourceDefinition", "ServiceAccount", "APIService"),
        *("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
    }
)
CATALOGUE = frozenset(("VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference"))
"""Kinds that virt-api itself must admit, so they come after it."""


def printed_objects(program: Path) -> list[Manifest]:
    """What this KubeVirt would install, as its own functions say."""
    try:
        answer = subprocess.run(
            [program, f"--namespace={NAMESPACE}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
            check=True,
        )
        things: list[Manifest] = msgspec.json.decode(answer.stdout)
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError) as error:
        raise TrimtabError(
            f"{program} does not print KubeVirt's objects ({error}); check it: "
            "trimtab engines verify"
        ) from error
    return things


def install_objects(printed: Sequence[Manifest], port: int) -> list[Manifest]:
    """What must be there before virt-api starts on this port, in order."""
    objects = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}]
    for thing in printed:
        kind, name = thing["kind"], thing["metadata"]["name"]
        if kind.endswith("WebhookConfiguration"):
            if name not in LEFT_OUT:
                objects.append(_by_url(thing, port))
        elif kind == "ConfigMap":
            objects.append(thing | {"data": {"ca-bundle": CA_TEXT}})
        elif kind == "Service" and name == "virt-api":
            objects.append(_on_this_computer(thing))
        elif kind == "APIService":
            objects.append(_aggregated(thing, port))
        elif kind in INSTALLED:
            objects.append(_plain(thing))
    return objects


def catalogue(printed: Sequence[Manifest]) -> list[Manifest]:
    """KubeVirt's instance types and preferences."""
    return [_plain(thing) for thing in printed if thing["kind"] in CATALOGUE]


def recording_rules(printed: Sequence[Manifest]) -> list[Manifest]:
    """The rule groups that KubeVirt ships for Prometheus."""
    rules = (thing for thing in printed if thing["kind"] == "PrometheusRule")
    return [group for thing in rules for group in thing["spec"]["groups"]]


def kubevirt(settings: KubevirtSettings) -> Manifest:
    """The KubeVirt object: the configuration of this installation."""
    migrations = {
        "parallelMigrationsPerCluster": settings.parallel,
        "parallelOutboundMigrationsPerNode": settings.parallel_per_node,
    }
    configuration: Manifest = {"evictionStrategy": "LiveMigrate", "migrations": migrations}
    if settings.priority_queue:
        configuration["developerConfiguration"] = {"featureGates": ["MigrationPriorityQueue"]}
    return {**_identity(), "spec": {"configuration": configuration}}


def kubevirt_status(version: str) -> Manifest:
    """What virt-operator reports when it is done; without a phase nobody reads the configuration.

    Without a default architecture virt-api refuses every VM.
    """
    return {
        **_identity(),
        "status": {
            "phase": "Deployed",
            "defaultArchitecture": "amd64",
            "observedKubeVirtVersion": version,
            "targetKubeVirtVersion": version,
            "operatorVersion": version,
        },
    }


def _identity() -> Manifest:
    metadata = {"name": "kubevirt", "namespace": NAMESPACE}
    return {"apiVersion": GROUP_VERSION, "kind": "KubeVirt", "metadata": metadata}


def _by_url(thing: Manifest, port: int) -> Manifest:
    webhooks = [_called_by_url(webhook, port) for webhook in thing["webhooks"]]
    return _plain(thing) | {"webhooks": webhooks}


def _called_by_url(webhook: Mapping[str, Any], port: int) -> Manifest:
    path = webhook["clientConfig"]["service"].get("path", "")
    url = f"https://127.0.0.1:{port}{path}"
    return {**webhook, "clientConfig": {"url": url, "caBundle": CA_BUNDLE}}


def _on_this_computer(service: Manifest) -> Manifest:
    """Endpoints must not be loopback addresses, but a name may lead there."""
    return _plain(service) | {"spec": {"type": "ExternalName", "externalName": "localhost"}}


def _aggregated(thing: Manifest, port: int) -> Manifest:
    spec = thing["spec"]
    service = {**spec["service"], "port": port}
    return _plain(thing) | {"spec": {**spec, "service": service, "caBundle": CA_BUNDLE}}


def _plain(thing: Manifest) -> Manifest:
    """Without what only a server writes: Go prints empty times and status too."""
    metadata = {k: v for k, v in thing["metadata"].items() if v is not None}
    return {**{k: v for k, v in thing.items() if k != "status"}, "metadata": metadata}
