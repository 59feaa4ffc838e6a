"""Kubeconfig files as kubectl reads them: one, or several that are merged.

Of two entries with one name the first file's wins, and so does the first current-context.
Paths inside a file are relative to that file, so they are made absolute before merging.
What we cannot do (a proxy, impersonation, a removed login) is an error here: leaving it out
would reach another server, or the right one as somebody else.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from trimtab.errors import ConfigError

_LISTS = {"clusters": "cluster", "contexts": "context", "users": "user"}
_PATHS = {
    "cluster": ("certificate-authority",),
    "user": ("client-certificate", "client-key", "tokenFile"),
}
_UNKNOWN = {
    "cluster": ("proxy-url", "tls-server-name"),
    "user": ("as", "as-uid", "as-groups", "as-user-extra"),
}
_LOGINS = ("token", "tokenFile", "exec", "password")

Entry = Mapping[str, Any]
Entries = Mapping[str, Mapping[str, Entry]]
"""By kind and name."""


def read(files: Sequence[Path], context: str | None = None) -> tuple[Entry, Entry, Entry]:
    """A usable context, by default the current one, with its cluster and its user.

    Files that are not there are left out, as kubectl does, unless none is there.
    """
    found = [file.expanduser() for file in files if file.expanduser().is_file()]
    said = ", ".join(map(str, files))
    if not found:
        raise ConfigError(f"kubeconfig {said}: there is no such file")
    configs = [_load(file) for file in found]
    current = (config.get("current-context") for config in configs)
    try:
        return _choose(_merge(configs), context or next(filter(None, current), None))
    except ConfigError as error:
        raise ConfigError(f"kubeconfig {said}: {error}") from error


def _load(file: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"kubeconfig {file}: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())
        raise ConfigError(f"kubeconfig {file}: not a kubeconfig: {why}") from error
    if content is not None and not isinstance(content, dict):
        raise ConfigError(f"kubeconfig {file}: not a kubeconfig: it is no YAML mapping")
    config: dict[str, Any] = content or {}
    for name, key in _LISTS.items():
        entries = config.get(name) or []
        if not isinstance(entries, list) or not all(_is_entry(each, key) for each in entries):
            raise ConfigError(
                f"kubeconfig {file}: not a kubeconfig: {name} must list entries with "
                f"a name and a {key}"
            )
        config[name] = [_absolute(each, key, file.parent) for each in entries]
    return config


def _is_entry(entry: object, key: str) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return False
    return isinstance(entry.get(key) or {}, dict)


def _absolute(entry: Entry, key: str, directory: Path) -> Entry:
    content = dict(entry.get(key) or {})
    for path in _PATHS.get(key, ()):
        if content.get(path):
            content[path] = str((directory / str(content[path])).absolute())
    command = (content.get("exec") or {}).get("command", "")
    if "/" in command:  # a bare name is looked up on the PATH
        content["exec"] = content["exec"] | {"command": str((directory / command).absolute())}
    return {"name": entry["name"], key: content}


def _merge(configs: Sequence[Mapping[str, Any]]) -> Entries:
    merged: dict[str, dict[str, Entry]] = {}
    for name, key in _LISTS.items():
        entries = merged.setdefault(key, {})
        for config in configs:
            for entry in config[name]:
                entries.setdefault(entry["name"], entry[key])
    return merged


def _choose(entries: Entries, name: str | None) -> tuple[Entry, Entry, Entry]:
    """The context of that name, with its cluster and its user."""
    contexts = entries["context"]
    known = ", ".join(contexts) or "none"
    if not name:
        raise ConfigError(f"no current context; name one with --context (there are: {known})")
    if name not in contexts:
        raise ConfigError(f'no context "{name}"; there are: {known}')
    cluster, user = (_part(entries, name, kind) for kind in ("cluster", "user"))
    _check_login(name, user)
    return contexts[name], cluster, user


def _part(entries: Entries, context: str, kind: str) -> Entry:
    """The cluster or user of a context; it asks for nothing that we cannot do."""
    entry = entries[kind].get(str(entries["context"][context].get(kind) or ""))
    if entry is None:
        raise ConfigError(
            f'context "{context}" names no {kind} that is there; set contexts[].context.{kind}'
        )
    for field in _UNKNOWN[kind]:
        if entry.get(field):
            raise ConfigError(
                f'context "{context}": {kind}.{field} is not supported; use a context without it'
            )
    return entry


def _check_login(context: str, user: Entry) -> None:
    provider = user.get("auth-provider")
    if provider and not any(user.get(login) for login in _LOGINS):
        raise ConfigError(
            f'context "{context}": its user logs in by auth-provider '
            f'"{provider.get("name", "?")}", which is not supported; '
            "use an exec plugin, a token or a client certificate"
        )
