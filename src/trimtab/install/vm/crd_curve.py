"""The schema of a load curve, and which fields belong to which kind of it."""

from trimtab.kube.crd_schema import Schema, choice, number, obj, rule
from trimtab.model.limits import MAX_SECONDS, MIN_SECONDS

MAX_TRACE = 2000
FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "constant": (("value",), ()),
    "steps": (("points",), ("repeat", "delay")),
    "diurnal": (("low", "high"), ("peakAt", "period")),
    "spikes": (("base", "peak", "every", "lasts"), ("seed", "delay")),
    "trace": (("values",), ("interval", "repeat")),
}
"""The fields of each curve: those it needs, those it may have."""


def curve(text: str, *, most: float) -> Schema:
    """One object for all five curves, with values up to `most`.

    A structural schema cannot say "one of these types".
    """
    point = {
        "type": "array",
        "minItems": 2,
        "maxItems": 2,
        "items": {"type": "number", "minimum": 0, "maximum": MAX_SECONDS},
    }
    period = {"least": MIN_SECONDS, "most": MAX_SECONDS}
    moment = {"least": -MAX_SECONDS, "most": MAX_SECONDS}
    properties = {
        "type": choice(tuple(FIELDS), "Which curve."),
        "value": number("constant: the value.", most=most),
        "points": {
            "description": "steps: pairs of seconds and the value from then on.",
            "type": "array",
            "minItems": 1,
            "maxItems": 500,
            "items": point,
        },
        "repeat": {
            "description": "steps: seconds after which it starts again; trace: whether it does.",
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "delay": number("steps, spikes: seconds later.", **moment),
        "low": number("diurnal: the lowest value.", most=most),
        "high": number("diurnal: the highest value.", most=most),
        "peakAt": number("diurnal: seconds to the highest value.", **moment),
        "period": number("diurnal: seconds.", **period),
        "base": number("spikes: the value between spikes.", most=most),
        "peak": number("spikes: the value during a spike.", most=most),
        "every": number("spikes: seconds from one to the next, on average.", **period),
        "lasts": number("spikes: seconds.", **period),
        "seed": {"type": "integer", "description": "spikes: another seed, other moments."},
        "values": {
            "description": "trace: the recorded values.",
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_TRACE,
            "items": {"type": "number", "minimum": 0, "maximum": most},
        },
        "interval": number("trace: seconds that each value lasts.", **period),
    }
    return obj(properties, required=["type"], rules=_curve_rules(most), text=text)


def _curve_rules(most: float) -> list[Schema]:
    """What each type needs and must not have: elsewhere other fields are an error, too.

    `repeat` is missing, because CEL does not see a field of two types.
    """
    fields = {name for needs, may in FIELDS.values() for name in (*needs, *may)} - {"repeat"}
    rules = [
        rule("!has(self.low) || !has(self.high) || self.low <= self.high", "low is above high"),
        rule(
            "!has(self.lasts) || !has(self.every) || self.lasts <= self.every",
            "lasts is longer than every",
        ),
        rule(
            f"!has(self.points) || self.points.all(point, point[1] <= {float(most)})",
            f"the values of the points must be at most {most:g}",
        ),
        rule(
            "!has(self.points) || self.points.map(point, point[0]).isSorted()",
            "the times of the points must rise",
        ),
    ]
    for kind, (needs, may) in FIELDS.items():
        foreign = sorted(fields.difference(needs, may))
        has = " && ".join(f"has(self.{name})" for name in needs)
        not_has = " && ".join(f"!has(self.{name})" for name in foreign)
        other = f"self.type != '{kind}'"
        rules += [
            rule(f"{other} || ({has})", f"a {kind} curve needs {', '.join(needs)}"),
            rule(f"{other} || ({not_has})", f"a {kind} curve has no {', '.join(foreign)}"),
        ]
    return rules
