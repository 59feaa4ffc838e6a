"""As much of PromQL as a linter needs: names, and what an expression does to its labels.

No full parser: where the text is not understood the answer is "unknown", and nothing is
reported. Prometheus itself judges the rest.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from msgspec import Struct

_TOKEN = re.compile(
    r"""\s+|\#[^\n]*
    |(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)
    |(?P<number>(?:0x[0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.]))
    |(?P<duration>(?:\d+(?:ms|[smhdwy]))+)
    |(?P<name>[A-Za-z_:][\w:.]*)
    |(?P<symbol>=~|!~|!=|==|<=|>=|[-+*/%^<>=(){}\[\],@:])""",
    re.VERBOSE,
)
_AGGREGATORS = frozenset(
    [
        "sum",
        "avg",
        "min",
        "max",
        "count",
        "group",
        "stddev",
        "stdvar",
        "quantile",
        "count_values",
        "topk",
        "bottomk",
    ]
)
_KEEPS_ALL = frozenset(("topk", "bottomk"))
_SETS = ("label_replace", "label_join")
_WORDS = frozenset(
    [
        "by",
        "without",
        "on",
        "ignoring",
        "group_left",
        "group_right",
        "and",
        "or",
        "unless",
        "bool",
        "offset",
        "inf",
        "nan",
        "start",
        "end",
        "atan2",
    ]
)
_LISTS = frozenset(["by", "without", "on", "ignoring", "group_left", "group_right"])
_BINARY = frozenset(
    ["+", "-", "*", "/", "%", "^", "==", "!=", "<", ">", "<=", ">=", "and", "or", "unless", "atan2"]
)
_CLOSING = {"(": ")", "{": "}", "[": "]"}


class Token(Struct, frozen=True):
    kind: str
    text: str


class Has(Enum):
    """Whether every sample of an expression carries a label."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


def tokens(text: str) -> list[Token]:
    """The tokens without comments and blanks; what cannot be read ends the list."""
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            break
        if match.lastgroup:
            found.append(Token(match.lastgroup, match[0]))
        at = match.end()
    return found


def metric_names(text: str) -> list[str]:
    """The series that an expression selects by name, in order."""
    return list(dict.fromkeys(_names(tokens(text))))


def _names(given: Sequence[Token]) -> Iterator[str]:
    depth, at = 0, 0
    while at < len(given):
        token = given[at]
        following = given[at + 1].text if at + 1 < len(given) else ""
        if token.text in ("{", "[", "}", "]"):
            depth += 1 if token.text in _CLOSING else -1
        if depth and token.text == "__name__" and following == "=":
            yield given[at + 2].text.strip("\"'`")
        if not depth and token.kind == "name":
            if token.text in _LISTS and following == "(":
                at = _end(given, at + 1)
            elif token.text not in _WORDS and not (
                following == "(" or (token.text in _AGGREGATORS and following in ("by", "without"))
            ):
                yield token.text
        at += 1


def _end(given: Sequence[Token], at: int) -> int:
    """Where the bracket that opens at `at` closes."""
    depth = 0
    for place in range(at, len(given)):
        if given[place].text in _CLOSING:
            depth += 1
        elif given[place].text in _CLOSING.values():
            depth -= 1
            if depth == 0:
                return place
    return len(given) - 1


def has_label(text: str, label: str, records: Mapping[str, str] | None = None) -> Has:
    """Whether the samples of an expression carry `label`; `records` are followed by name."""
    return _has(tokens(text), label, records or {}, 5)


def _has(given: Sequence[Token], label: str, records: Mapping[str, str], left: int) -> Has:
    given = _unwrapped(given)
    if not given or left == 0:
        return Has.UNKNOWN
    operands = [part for part in _operands(given) if not _is_number(part)]
    if len(operands) > 1:
        # one side may carry the label where the other does not
        found = {_has(part, label, records, left) for part in operands}
        return found.pop() if len(found) == 1 else Has.UNKNOWN
    if len(operands) == 1 and len(operands[0]) < len(given):
        return _has(operands[0], label, records, left)
    return _single(given, label, records, left)


def _single(given: Sequence[Token], label: str, records: Mapping[str, str], left: int) -> Has:
    head = given[0]
    if head.kind != "name":
        return Has.UNKNOWN
    if head.text in _AGGREGATORS:
        return _aggregated(given, label, records, left)
    if len(given) > 1 and given[1].text == "(":
        return _called(given, label, records, left)
    inner = records.get(head.text)
    return Has.UNKNOWN if inner is None else _has(tokens(inner), label, records, left - 1)


def _aggregated(given: Sequence[Token], label: str, records: Mapping[str, str], left: int) -> Has:
    if given[0].text in _KEEPS_ALL:
        return Has.UNKNOWN
    for at, token in enumerate(given[:-1]):
        if token.text in ("by", "without") and given[at + 1].text == "(" and _outer(given, at):
            listed = {t.text for t in given[at + 2 : _end(given, at + 1)] if t.kind == "name"}
            if token.text == "by":
                return Has.UNKNOWN if label in listed else Has.NO
            return Has.NO if label in listed else Has.UNKNOWN
    return Has.NO


def _outer(given: Sequence[Token], at: int) -> bool:
    """Whether a token stands outside all brackets."""
    depth = 0
    for token in given[:at]:
        depth += (token.text in _CLOSING) - (token.text in _CLOSING.values())
    return depth == 0


def _called(given: Sequence[Token], label: str, records: Mapping[str, str], left: int) -> Has:
    arguments = _arguments(given[2 : _end(given, 1)])
    if given[0].text in ("vector", "scalar", "time"):
        return Has.NO
    made = arguments[1][0].text.strip("\"'`") if len(arguments) > 1 and arguments[1] else ""
    if given[0].text in _SETS and made == label:
        return Has.YES
    vectors = [a for a in arguments if a and not _is_number(a) and a[0].kind != "string"]
    return _has(vectors[0], label, records, left) if vectors else Has.UNKNOWN


def _arguments(given: Sequence[Token]) -> list[Sequence[Token]]:
    return _split(given, frozenset((",",)))


def _operands(given: Sequence[Token]) -> list[Sequence[Token]]:
    """The parts between binary operators outside brackets, without what says how they match."""
    parts = []
    for part in _split(given, _BINARY):
        while len(part) > 1 and part[0].text in _LISTS | {"bool"}:
            part = part[_end(part, 1) + 1 :] if part[1].text == "(" else part[1:]
        if part:
            parts.append(part)
    return parts


def _split(given: Sequence[Token], at: frozenset[str]) -> list[Sequence[Token]]:
    parts, start, depth = [], 0, 0
    for place, token in enumerate(given):
        depth += (token.text in _CLOSING) - (token.text in _CLOSING.values())
        if depth == 0 and token.text in at and token.kind in ("symbol", "name"):
            parts.append(given[start:place])
            start = place + 1
    parts.append(given[start:])
    return parts


def _unwrapped(given: Sequence[Token]) -> Sequence[Token]:
    while given and given[0].text == "(" and _end(given, 0) == len(given) - 1:
        given = given[1:-1]
    return given


def _is_number(given: Sequence[Token]) -> bool:
    return bool(given) and all(t.kind == "number" or t.text in ("-", "+") for t in given)


def is_percent(text: str, records: Mapping[str, str] | None = None) -> bool:
    """Whether the outermost thing an expression does is to multiply by 100."""
    given = _unwrapped(tokens(text))
    if len(given) == 1 and records and given[0].text in records:
        return is_percent(records[given[0].text])
    parts = _split(given, _BINARY)
    numbers = [p for p in parts if len(p) == 1 and p[0].kind == "number"]
    signs = {t.text for at, t in enumerate(given) if t.kind == "symbol" and _outer(given, at)}
    return "*" in signs and "/" not in signs and any(float(n[0].text) == 100 for n in numbers)
