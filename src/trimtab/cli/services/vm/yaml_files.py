"""The YAML files that commands are given."""

import sys
from pathlib import Path
from typing import Any

from trimtab.errors import ConfigError
from trimtab.files.yaml import read_documents


def read_manifests(file: Path) -> list[dict[str, Any]]:
    """The YAML documents of a file, or of stdin for `-`."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--file {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"--file {file}: it is not UTF-8 text") from error
    documents = read_documents(text, f"--file {file}")
    for document in documents:
        if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
            raise ConfigError(f"--file {file}: a document is not a Kubernetes object")
    return documents
