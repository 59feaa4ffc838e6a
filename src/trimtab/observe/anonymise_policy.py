"""A policy's text without its cluster's words: comments go, selectors and names are replaced.

What the descheduler reads stays in place: numbers, plugins, protections, durations, names of
metrics. Strings inside a query are replaced; the query is not asked again.
"""

import re
from typing import Any
from urllib.parse import urlsplit

from trimtab.errors import ConfigError
from trimtab.model.selectors import Requirement
from trimtab.observe.pseudonyms import Pseudonyms
from trimtab.policy.file.selector_text import parse_selector
from trimtab.policy.file.yaml_text import dump_yaml, load_yaml

UNREADABLE = "unreadable,,"
"""Stands for a selector that cannot be parsed: it must stay so."""
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'')
_WORDS = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?")
# Strings with a meaning of their own, by the key they stand under.
_KEPT = frozenset(
    {
        "apiVersion",
        "kind",
        "source",
        "noEvictionPolicy",
        "minPodAge",
        "evictionModes",
        "enabled",
        "disabled",
        "extraEnabled",
        "defaultDisabled",
        "operator",
    }
)


def words_of(text: str) -> set[str]:
    """Every word of a policy that may need a pseudonym."""
    found: dict[str, str] = {}
    _walk(load_yaml(text, "policy"), "", lambda word: found.setdefault(word, word))
    return set(found)


def anonymise_policy(text: str, pseudonyms: Pseudonyms) -> str:
    """The same policy in pseudonyms."""
    return dump_yaml(_walk(load_yaml(text, "policy"), "", pseudonyms))


def anonymise_query(query: str, translate: Any) -> str:
    """Quoted strings become pseudonyms, word by word; metrics and functions stay."""

    def replaced(match: re.Match[str]) -> str:
        inner = match[1] if match[1] is not None else match[2]
        return '"' + _WORDS.sub(lambda word: str(translate(word[0])), inner) + '"'

    return _LITERAL.sub(replaced, query)


def _walk(tree: Any, key: str, translate: Any) -> Any:
    if isinstance(tree, list):
        return [_walk(item, key, translate) for item in tree]
    if isinstance(tree, dict):
        return _object(tree, key, translate)
    return _text(tree, key, translate) if isinstance(tree, str) else tree


def _object(tree: dict[str, Any], key: str, translate: Any) -> dict[str, Any]:
    if key == "pluginConfig":
        # arguments of plugins that are not modelled are not read, so they can go
        kept = {"name": tree.get("name")}
        args = tree.get("args")
        if args is not None and tree.get("name") in _READ:
            kept["args"] = _walk(args, "args", translate)
        return kept
    if key == "matchLabels":
        return {translate(name): _scalar(value, translate) for name, value in tree.items()}
    return {name: _walk(value, name, translate) for name, value in tree.items()}


_READ = ("DefaultEvictor", "LowNodeUtilization", "HighNodeUtilization")


def _scalar(value: Any, translate: Any) -> Any:
    return translate(value) if isinstance(value, str) else value


def _text(text: str, key: str, translate: Any) -> str:
    if key in _KEPT:
        return text
    if key == "nodeSelector":
        return _selector(text, translate)
    if key == "query":
        return anonymise_query(text, translate)
    if key == "url":
        return _url(text)
    return str(translate(text))


def _url(url: str) -> str:
    """Scheme and port are what the traps are about; the host is private."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "http://prometheus.example"
    if parts.scheme not in ("http", "https"):
        return url
    return f"{parts.scheme}://prometheus.example{port}"


def _selector(text: str, translate: Any) -> str:
    try:
        requirements = parse_selector(text, "nodeSelector").requirements
    except ConfigError:
        return UNREADABLE
    return ",".join(_requirement(each, translate) for each in requirements)


def _requirement(requirement: Requirement, translate: Any) -> str:
    key = translate(requirement.key)
    match requirement.operator:
        case "Exists":
            return str(key)
        case "DoesNotExist":
            return f"!{key}"
        case "Gt" | "Lt":
            return f"{key}{'>' if requirement.operator == 'Gt' else '<'}{requirement.values[0]}"
    values = ",".join(translate(value) for value in requirement.values)
    return f"{key} {requirement.operator.lower()} ({values})"
