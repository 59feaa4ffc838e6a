"""A service in a cluster: its Deployment, the Services that lead to it, its disruption budget."""

from typing import Any

from trimtab import __version__
from trimtab.install.manifests import account, documents, head, namespace
from trimtab.install.rights import Role, granted
from trimtab.install.service import Deployment, Mount, ServiceSpec
from trimtab.kube.runtime.options import written

Manifest = dict[str, Any]
IMAGE = f"localhost/trimtab:{__version__}"
USER = 10001


def deployed(service: ServiceSpec) -> list[Manifest]:
    """All objects of the service's file, but its account and its rights."""
    how = service.deployment
    assert how is not None, f"{service.name} is not installed in clusters"
    return [
        _deployment(service, how),
        *([_budget(service, how)] if how.disruption_budget else []),
        *_services(service, how),
        *how.after(),
    ]


def service_file(service: ServiceSpec) -> dict[str, str]:
    """The same as a file below k8s, by path."""
    how = service.deployment
    assert how is not None, f"{service.name} is not installed in clusters"
    source = f"trimtab/install/services/{service.name.replace('-', '_')}.py"
    return {f"k8s/{how.file}": head(source, how.note) + documents(deployed(service))}


def account_with_rights(service: ServiceSpec, *more: Role) -> list[Manifest]:
    """The namespace of all services, the service's account, and its roles."""
    roles = (*service.roles(), *more)
    rights = granted(service.name, roles, account_in=home(service))
    return [namespace(), account(service.name, home(service)), *rights]


def home(service: ServiceSpec) -> str:
    """The namespace of the service's account in a cluster."""
    return service.deployment.namespace if service.deployment else "trimtab-system"


def _app(service: ServiceSpec, how: Deployment) -> str:
    return how.app or service.name


def _deployment(service: ServiceSpec, how: Deployment) -> Manifest:
    labels = {"app": _app(service, how)}
    strategy = {"strategy": {"type": "Recreate"}} if how.recreate else {}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(service, how),
        "spec": {
            "replicas": how.replicas,
            **strategy,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": _pod(service, how)},
        },
    }


def _pod(service: ServiceSpec, how: Deployment) -> Manifest:
    group = {"fsGroup": USER} if any(each.mode for each in how.mounts) else {}
    volumes = [*map(_volume, how.mounts), *([_scratch(how.scratch)] if how.scratch else [])]
    return {
        "serviceAccountName": service.name,
        **({"affinity": _apart(_app(service, how))} if how.replicas > 1 else {}),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            **group,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(service, how)],
        **({"volumes": volumes} if volumes else {}),
    }


def _scratch(size: str) -> Manifest:
    return {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": size}}


def _apart(app: str) -> Manifest:
    """Replicas on nodes of their own, if there are enough."""
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    preferred = [{"weight": 100, "podAffinityTerm": term}]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def _container(service: ServiceSpec, how: Deployment) -> Manifest:
    port = _port_name(how)
    probe: Manifest = {"port": port} | ({"scheme": "HTTPS"} if how.https else {})
    mounts = [{"name": m.name, "mountPath": m.path, "readOnly": True} for m in how.mounts]
    if how.scratch:
        mounts.append({"name": "tmp", "mountPath": "/tmp"})
    options = written(how.settings, always=frozenset({"port"}))
    return {
        "name": service.name,
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": ["run", service.name, *options],
        "ports": [{"name": port, "containerPort": service.port}],
        "readinessProbe": {"httpGet": {"path": "/readyz"} | probe},
        "livenessProbe": {
            "httpGet": {"path": "/healthz"} | probe,
            "initialDelaySeconds": 10,
            "failureThreshold": 6,
        },
        "resources": {
            "requests": {"cpu": "50m", "memory": "96Mi"},
            "limits": {"memory": how.memory},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        **({"volumeMounts": mounts} if mounts else {}),
    }


def _volume(mount: Mount) -> Manifest:
    mode = {} if mount.mode is None else {"defaultMode": mount.mode}
    return {"name": mount.name, "secret": {"secretName": mount.secret} | mode}


def _budget(service: ServiceSpec, how: Deployment) -> Manifest:
    app = _app(service, how)
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": how.namespace},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}},
    }


def _services(service: ServiceSpec, how: Deployment) -> list[Manifest]:
    """The entry has an address; Prometheus finds each replica by the headless Service."""
    own = _service(service, how, service.port, headless=how.headless)
    if how.entry is None:
        return [own]
    entry = _service(service, how, how.entry, headless=False)
    return [entry, own | {"metadata": _metadata(service, how, "-metrics")}]


def _service(service: ServiceSpec, how: Deployment, port: int, *, headless: bool) -> Manifest:
    name = _port_name(how)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(service, how),
        "spec": {
            **({"clusterIP": "None"} if headless else {}),
            "selector": {"app": _app(service, how)},
            "ports": [{"name": name, "port": port, "targetPort": name}],
        },
    }


def _metadata(service: ServiceSpec, how: Deployment, suffix: str = "") -> Manifest:
    app = _app(service, how)
    return {"name": app + suffix, "namespace": how.namespace, "labels": {"app": app}}


def _port_name(how: Deployment) -> str:
    return "https" if how.https else "http"
