"""Writes docs/reference/algorithms.md and its pictures from the catalogue.

The prose is in algorithms.md.template; this file fills in what the catalogue knows.
"""

from collections.abc import Iterable
from pathlib import Path

from trimtab.scores.catalog import CATALOG, CLASSIC
from trimtab.scores.expr import Record, walk
from trimtab.scores.further import FURTHER, K3
from trimtab.scores.inputs import cluster_means
from trimtab.scores.picture import picture
from trimtab.scores.prometheus.alerts import Alert
from trimtab.scores.prometheus.files import rule_groups
from trimtab.scores.prometheus.pareto_promql import COMPUTED, LARGEST_UNROLLED, ORDER, PAIR
from trimtab.scores.prometheus.promql import Printer
from trimtab.scores.prometheus.records import base_record, score_record
from trimtab.scores.prometheus.rules import EXPORTED, EXPORTED_IN_FLIGHT, RuleSettings
from trimtab.scores.score import Score

PAGE = "docs/reference/algorithms.md"
PICTURES = "docs/reference/algorithms"
TEMPLATE = Path(__file__).with_name("algorithms.md.template")


def generate() -> dict[str, str]:
    """The page and one picture per score."""
    pictures = {f"{PICTURES}/{s.name}.svg": picture(s) for s in CATALOG.values()}
    return {PAGE: page(), **pictures}


def page() -> str:
    """The reference of all scores."""
    text = TEMPLATE.read_text()
    parts = {
        "overview": _overview(),
        "inputs": _inputs(),
        "nineteen": "\n".join(_section(score) for score in CLASSIC),
        "further": "\n".join(_section(score) for score in FURTHER),
        "helpers": _helpers(CATALOG.values()),
        "alerts": _alerts(),
    }
    for name, part in parts.items():
        text = text.replace("{{" + name + "}}", part)
    return text


def _overview() -> str:
    rows = (
        f"| [`{s.name}`](#{s.name}) | {s.formula} | {s.lookback_s / 60:g} min |"
        for s in CATALOG.values()
    )
    return "\n".join(["| score | formula | looks back |", "|---|---|--:|", *rows])


def _inputs() -> str:
    rows = ["| series of the exporter | base record | meaning |", "|---|---|---|"]
    rows += [
        f"| `{series}` | `{base_record(column, 'score')}` | {column.replace('_', ' ')} |"
        for column, series in EXPORTED.items()
    ]
    rows += [
        f"| `{arriving}`, `{leaving}` | `{base_record(column, 'score')}` "
        f"| {column.split('_')[0]} of the VMs that migrate in and out, as a share of the node |"
        for column, (arriving, leaving) in EXPORTED_IN_FLIGHT.items()
    ]
    rows += [
        f"| `{PAIR}{{node, other}}` = 0, `{ORDER}{{node}}` | | every ordered pair of nodes, and "
        f"their places in name order: for `pareto_front` of up to {LARGEST_UNROLLED} nodes |",
        f"| `{COMPUTED['score']}`, `{COMPUTED['avg1m']}` | | the score itself, for more nodes |",
    ]
    return "\n".join(rows)


def _section(score: Score) -> str:
    words = [f"**Choose it when:** {score.choose}", f"**Beware:** {score.weakness}"]
    if score.answers:
        words.append(f"**Answers:** {score.answers}")
    if score.aliases:
        records = ", ".join(f"`{score_record(a, 'avg1m')}`" for a in score.aliases)
        words.append(f"**Also recorded as:** {records}")
    definition = Printer("avg1m").definition(score.value)
    return (
        f"### {score.name}\n\n`{score.formula}`\n\n![{score.name}](algorithms/{score.name}.svg)\n\n"
        + "  \n".join(words)
        + f"\n\n```promql\n# {score_record(score.name, 'avg1m')}\n{definition}\n```\n"
    )


def _helpers(scores: Iterable[Score]) -> str:
    """Every helper once; the mode `now` has the same with other endings."""
    parts = dict.fromkeys(part for score in scores for part in walk(score.value))
    helpers = [p for p in parts if isinstance(p, Record) and p.kind != "score"]
    printer = Printer("avg1m")
    lines = []
    for helper in dict.fromkeys([*cluster_means, *helpers]):
        label = f'{{dimension="{helper.dimension}"}}' if helper.dimension else ""
        lines.append(f"{printer.name(helper)}{label} =\n  {printer.definition(helper)}")
    return "\n".join(lines)


def _alerts() -> str:
    alerts = rule_groups([K3, CATALOG["pareto_front"]], RuleSettings())[1].rules
    rows = {
        a.alert: f"| {a.alert} | {a.labels['severity']} | {a.after} | `{a.expr}` |"
        for a in reversed(alerts)
        if isinstance(a, Alert)
    }
    return "\n".join(reversed(rows.values()))
