"""What the `trimtab vm` commands take from their surroundings: kubeconfigs, labs, YAML files."""

import sys
from pathlib import Path
from typing import Any

import yaml

from trimtab.cli.lab_context import existing, home
from trimtab.errors import ConfigError
from trimtab.kube.client import Client

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_LAB = "default"


def connect(kubeconfig: Path | None, lab: str) -> Client:
    """The cluster that is meant: by kubeconfig, by lab, the default lab, or that of this pod."""
    options = {"manager": "trimtab-cli"}
    if kubeconfig is not None and lab:
        raise ConfigError("--kubeconfig and --lab name two clusters; give one of them")
    if kubeconfig is not None:
        return Client.from_kubeconfig(kubeconfig, **options)
    if not lab and SERVICE_ACCOUNT.exists() and not home().lab(DEFAULT_LAB).spec_file.exists():
        return Client.in_cluster(**options)
    return Client.from_kubeconfig(existing(lab or DEFAULT_LAB).kubeconfig, **options)


def read_manifests(file: Path) -> list[dict[str, Any]]:
    """The YAML documents of a file, or of stdin for `-`."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
        documents = [each for each in yaml.safe_load_all(text) if each is not None]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--file {file}: {error}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"--file {file}: not YAML: {' '.join(str(error).split())}") from error
    for document in documents:
        if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
            raise ConfigError(f"--file {file}: a document is not a Kubernetes object")
    return documents
