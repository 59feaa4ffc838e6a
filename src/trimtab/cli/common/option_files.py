"""Files that options name: text, and manifests of Kubernetes."""

import sys
from pathlib import Path
from typing import Any

from trimtab.errors import ConfigError
from trimtab.files.yaml import read_documents


def read_option_file(option: str, file: Path, *, or_stdin: bool = False) -> str:
    """The text of the file that `option` names, or an error that names both.

    or_stdin: what comes in, where the file is called `-`.
    """
    try:
        return sys.stdin.read() if or_stdin and str(file) == "-" else file.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"{option} {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{option} {file}: it is not UTF-8 text") from error


def read_manifests(file: Path) -> list[dict[str, Any]]:
    """The YAML documents of a file, or of stdin for `-`."""
    text = read_option_file("--file", file, or_stdin=True)
    documents = read_documents(text, f"--file {file}")
    for document in documents:
        if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
            raise ConfigError(f"--file {file}: a document is not a Kubernetes object")
    return documents
