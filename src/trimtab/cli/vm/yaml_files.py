"""The YAML files that commands are given."""

import sys
from pathlib import Path
from typing import Any

import yaml

from trimtab.errors import ConfigError


def read_manifests(file: Path) -> list[dict[str, Any]]:
    """The YAML documents of a file, or of stdin for `-`."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        documents = [each for each in yaml.safe_load_all(text) if each is not None]
    except OSError as error:
        raise ConfigError(f"--file {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"--file {file}: it is not UTF-8 text") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"--file {file}: not YAML: {' '.join(str(error).split())}") from error
    for document in documents:
        if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
            raise ConfigError(f"--file {file}: a document is not a Kubernetes object")
    return documents
