"""Divides every time in a rule file by a scale, for labs whose clock runs faster.

Works on any rule file, not only on ours: intervals, `for`, range selectors, offsets and the
seconds ahead of `predict_linear`. Record names keep what they say.
"""

import re
from typing import Any

from trimtab.errors import ConfigError
from trimtab.files.yaml import as_yaml
from trimtab.model.yaml_text import parse_text
from trimtab.scores.prometheus.records import duration, number

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
