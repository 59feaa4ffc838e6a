"""YAML for Kubernetes and for people: one printer, and one reader of manifests.

Formats with rules of their own have their own readers: scenarios (YAML 1.2, no key twice) in
`model`, the descheduler's policy (as Go reads it) in `policy`.
"""

from typing import Any

import yaml

from trimtab.errors import ConfigError


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True  # an anchor puzzles readers, and not every tool knows it


def _text(dumper: yaml.CSafeDumper, value: str) -> yaml.ScalarNode:
    """Text of several lines stays as it is: a file inside a ConfigMap can be read."""
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def as_yaml(data: object, *, sort_keys: bool = False, width: int = 100) -> str:
    """Keys in their order, long text folded, text of several lines as it is."""
    text: str = yaml.dump(
        data, Dumper=_Dumper, sort_keys=sort_keys, width=width, allow_unicode=True
    )
    return text


def as_documents(*documents: object) -> str:
    """Several documents, with `---` between them."""
    return "---\n".join(as_yaml(each) for each in documents)


def read_documents(text: str, where: str) -> list[Any]:
    """The documents of a file that are not empty; `where` names it in errors."""
    try:
        return [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each is not None]
    except yaml.YAMLError as error:
        raise ConfigError(f"{where}: not YAML: {problem_of(error)}") from error


def problem_of(error: yaml.YAMLError) -> str:
    """One line: what is wrong, and in which line of the text."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return " ".join(str(error).split())
