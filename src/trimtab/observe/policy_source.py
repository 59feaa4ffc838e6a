"""Where the policy is: a file, or a ConfigMap of the cluster.

`configmap` alone tries the places where the descheduler's manifests, its Helm chart and the
OpenShift operator put it; `configmap:NAMESPACE/NAME[:KEY]` names one.
"""

from pathlib import Path

import yaml
from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.kube.client import Client
from trimtab.kube.errors import Forbidden, NotFound
from trimtab.kube.resources import CONFIG_MAPS, ConfigMap

KEY = "policy.yaml"
PLACES = (
    ("kube-descheduler", "descheduler-policy"),
    ("openshift-kube-descheduler-operator", "cluster"),
    ("kube-system", "descheduler"),
    ("kube-system", "descheduler-policy-configmap"),
)
CONFIG_MAP = "configmap"


class Source(Struct, frozen=True):
    """The text of a policy, where it was found, and the namespace it lives in."""

    text: str
    where: str
    namespace: str = ""


def is_config_map(given: str) -> bool:
    return given == CONFIG_MAP or given.startswith(f"{CONFIG_MAP}:")


def read_file(path: Path) -> Source:
    """A policy file, or a manifest of the ConfigMap that holds one."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: it is not a text in UTF-8") from error
    inner = _inside_a_manifest(text)
    return Source(inner if inner is not None else text, str(path))


def _inside_a_manifest(text: str) -> str | None:
    try:
        documents = [d for d in yaml.safe_load_all(text) if isinstance(d, dict)]
    except yaml.YAMLError:
        return None
    for document in documents:
        if document.get("kind") == "ConfigMap":
            return _only(document.get("data") or {}, "the ConfigMap")
    return None


async def read_config_map(client: Client, given: str = CONFIG_MAP) -> Source:
    """The policy in the cluster."""
    named, _, key = given.removeprefix(CONFIG_MAP).removeprefix(":").partition(":")
    if named:
        namespace, slash, name = named.partition("/")
        if not slash:
            raise ConfigError(f"--policy {given}: write configmap:NAMESPACE/NAME")
        found = await client.get(CONFIG_MAPS, name, namespace)
        return _source(found, namespace, name, key)
    for namespace, name in PLACES:
        try:
            found = await client.get(CONFIG_MAPS, name, namespace)
        except (NotFound, Forbidden):  # if no place has one, the error below names all
            continue
        return _source(found, namespace, name)
    tried = ", ".join("/".join(place) for place in PLACES)
    raise ConfigError(
        f"no readable ConfigMap with a policy ({tried}); "
        "give --policy FILE or --policy configmap:NAMESPACE/NAME"
    )


def _source(found: ConfigMap, namespace: str, name: str, key: str = "") -> Source:
    where = f"configmap {namespace}/{name}"
    if key and key not in found.data:
        raise ConfigError(f"{where}: it has no key {key}; it has {', '.join(found.data)}")
    text = found.data[key] if key else _only(found.data, where)
    return Source(text, where, namespace)


def _only(data: dict[str, str], where: str) -> str:
    """The usual key, or the only one."""
    if KEY in data:
        return data[KEY]
    if len(data) != 1:
        raise ConfigError(
            f"{where}: which of {', '.join(data) or 'no keys'} is the policy? name it as "
            "configmap:NAMESPACE/NAME:KEY"
        )
    return next(iter(data.values()))
