"""Evaluates often what a policy asks for, and the rest of a rule file more slowly.

All scores of 500 nodes take Prometheus seconds, and it starts to miss evaluations; those of five
nodes at a scale of 15 take half of what a lab costs. A policy reads one of them.
Works on the text of a rule file: a rule is needed often if a query of the policy names its
record, if a needed rule does, or if some rule looks back over its history, which would have gaps
otherwise. Everything else goes to a group of its own, with the alerts that watch it.
"""

import re
from collections.abc import Iterable
from typing import Any

from trimtab.errors import ConfigError
from trimtab.files.yaml import as_yaml
from trimtab.model.yaml_text import parse_text
from trimtab.scores.prometheus.records import duration, number

# Divides every time in a rule file by a scale, for labs whose clock runs faster.
#
# Works on any rule file, not only on ours: intervals, `for`, range selectors, offsets and the
# seconds ahead of `predict_linear`. Record names keep what they say.
_UNITS = {
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
    "y": 31536000.0,
}
_DURATION = r"(?:\d+(?:ms|[smhdwy]))+"
_RANGE = re.compile(rf"\[\s*({_DURATION})\s*(?::\s*({_DURATION})?\s*)?\]")
_OFFSET = re.compile(rf"\boffset\s+(-?)({_DURATION})")
_AHEAD = re.compile(r"(predict_linear\((?:[^()]|\([^()]*\))*,\s*)(\d+(?:\.\d+)?)(\s*\))")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_TIMES = ("for", "keep_firing_for")


def rescale(text: str, scale: float, where: str = "rules") -> str:
    """The rule file with all times divided by `scale`; comments are not kept."""
    if not scale > 0:
        raise ConfigError(f"scale is {scale:g}; give a number above 0")
    data = parse_text(text, where)
    if not isinstance(data, dict) or not isinstance(data.get("groups"), list):
        raise ConfigError(f"{where}: there are no groups; give a Prometheus rule file")
    return as_yaml({**data, "groups": [_group(group, scale) for group in data["groups"]]})


def _group(group: dict[str, Any], scale: float) -> dict[str, Any]:
    changed = dict(group)
    for key in ("interval", "query_offset"):
        if key in group:
            changed[key] = _shorter(str(group[key]), scale)
    return {**changed, "rules": [_rule(rule, scale) for rule in group.get("rules") or []]}


def _rule(rule: dict[str, Any], scale: float) -> dict[str, Any]:
    changed = {**rule, "expr": rescale_expression(str(rule["expr"]), scale)}
    for key in _TIMES:
        if key in rule:
            changed[key] = _shorter(str(rule[key]), scale)
    return changed


def rescale_expression(expression: str, scale: float) -> str:
    """PromQL with its windows divided; text in quotes is left alone."""
    quoted: list[str] = []

    def hide(match: re.Match[str]) -> str:
        quoted.append(match[0])
        return f'"{len(quoted) - 1}"'

    hidden = _TEXT.sub(hide, expression)
    hidden = _RANGE.sub(lambda m: f"[{':'.join(_parts(m, scale))}]", hidden)
    hidden = _OFFSET.sub(lambda m: f"offset {m[1]}{_shorter(m[2], scale)}", hidden)
    hidden = _AHEAD.sub(lambda m: f"{m[1]}{number(float(m[2]) / scale)}{m[3]}", hidden)
    return re.sub(r'"(\d+)"', lambda m: quoted[int(m[1])], hidden)


def _parts(match: re.Match[str], scale: float) -> list[str]:
    step = _shorter(match[2], scale) if match[2] else ""
    return [_shorter(match[1], scale), *([step] if ":" in match[0] else [])]


def _shorter(text: str, scale: float) -> str:
    found = re.findall(r"(\d+)(ms|[smhdwy])", text)
    return duration(sum(int(count) * _UNITS[unit] for count, unit in found) / scale)


SLOW_S = 60.0
"""Seconds between two evaluations of what is not needed often. A record is found for five
minutes after its evaluation, so this must stay far below that."""
SLOW_SUFFIX = "-slow"
OUR_GROUPS = ("trimtab", "trimtab-openshift", "trimtab-alerts")
"""Groups of somebody else's stay as they are."""

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
# Only at the beginning of a name and without going back in it: 17 times as fast over our rules.
_WITH_HISTORY = re.compile(
    r"(?<![a-zA-Z0-9_:])([a-zA-Z_:][a-zA-Z0-9_:]*+)\s*(?:\{[^}]*\})?\s*\[[^:\]]*\]"
)
_SUBQUERY = re.compile(r"\[[^\]]*:[^\]]*\]")

Rule = dict[str, Any]
Group = dict[str, Any]


def focus(text: str, queries: Iterable[str], where: str = "rules", slow_s: float = SLOW_S) -> str:
    """The rule file with our groups split; comments are not kept."""
    data = parse_text(text, where)
    if not isinstance(data, dict) or not isinstance(data.get("groups"), list):
        raise ConfigError(f"{where}: there are no groups; give a Prometheus rule file")
    return as_yaml({**data, "groups": focused(data["groups"], queries, slow_s)})


def focused(groups: list[Group], queries: Iterable[str], slow_s: float = SLOW_S) -> list[Group]:
    """The groups of a rule file, ours split in what the queries need often and the rest."""
    rules = [r for g in groups for r in g.get("rules") or () if "record" in r]
    slow = {rule["record"] for rule in rules} - needed_records(rules, queries)
    return [part for group in groups for part in _split(group, slow, slow_s)]


def needed_records(rules: list[Rule], queries: Iterable[str]) -> set[str]:
    """The records that the queries are made of, and those whose history some rule reads."""
    uses: dict[str, set[str]] = {}
    for rule in rules:
        uses.setdefault(rule["record"], set()).update(_names(rule["expr"]))
    wanted = {name for query in queries for name in _names(query)}
    wanted |= {name for rule in rules for name in _looked_back_over(rule["expr"])}
    needed: set[str] = set()
    while wanted := (wanted & uses.keys()) - needed:
        needed |= wanted
        wanted = {name for record in wanted for name in uses[record]}
    return needed


def _names(expression: str) -> set[str]:
    return set(_NAME.findall(_QUOTED.sub('""', expression)))


def _looked_back_over(expression: str) -> set[str]:
    plain = _QUOTED.sub('""', expression)
    if _SUBQUERY.search(plain):  # anything in it may be what it looks back over
        return _names(plain)
    return set(_WITH_HISTORY.findall(plain))


def _split(group: Group, slow: set[str], slow_s: float) -> list[Group]:
    rules = group.get("rules") or []
    often = [rule for rule in rules if not _is_slow(rule, slow)]
    rest = [rule for rule in rules if _is_slow(rule, slow)]
    if group.get("name") not in OUR_GROUPS or not often or not rest:
        return [group]
    name = f"{group['name']}{SLOW_SUFFIX}"
    return [
        {**group, "rules": often},
        {**group, "name": name, "interval": duration(slow_s), "rules": rest},
    ]


def _is_slow(rule: Rule, slow: set[str]) -> bool:
    return rule["record"] in slow if "record" in rule else not slow.isdisjoint(_names(rule["expr"]))
