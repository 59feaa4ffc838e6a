"""Writes docs/reference/lint.md from the catalogue."""

from collections.abc import Iterator

from trimtab.truth.lint.catalogue import CATALOGUE
from trimtab.truth.lint.finding import DOCS, Rule

_HEAD = """\
<!-- Written by `make generate` from src/trimtab/truth/lint/catalogue.py; change it there. -->
# What `trimtab lint` finds

```
trimtab lint POLICY [--rules FILE] [--prometheus URL] [--kubeconfig FILE]
```

`POLICY` is a policy file, a manifest of the ConfigMap that holds one, or `configmap`.
It judges by what it is given: the more, the more it finds.
The last line says how many checks ran, and which options the others need.
It exits with 1 if there is an error or a warning, otherwise with 0.
`--json` and `--sarif` print them for programs.

An *error* means that nothing is evicted, or that the descheduler does not start.
A *warning* means that it does less than the policy says.
A *note* is no fault: it says what is often taken for something else.

| id | severity | needs | |
|---|---|---|---|
"""


def generate() -> dict[str, str]:
    return {DOCS: page()}


def page() -> str:
    rows = (f"| [{r.id}](#{r.id}) | {r.severity} | {r.needs} | {r.title} |" for r in CATALOGUE)
    return _HEAD + "\n".join(rows) + "\n" + "\n".join(map(_section, CATALOGUE))


def _section(rule: Rule) -> str:
    return "\n".join(_lines(rule)) + "\n"


def _lines(rule: Rule) -> Iterator[str]:
    yield f"\n## {rule.id}\n"
    yield f"**{rule.title}** ({rule.severity}; needs {rule.needs})\n"
    yield from _sentences(rule.explanation)
    yield f"\nWhat to do: {rule.fix}"


def _sentences(text: str) -> Iterator[str]:
    """One a line, as in all our documents."""
    yield from text.replace(". ", ".\n").splitlines()
