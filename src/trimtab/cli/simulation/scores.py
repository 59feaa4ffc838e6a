"""`trimtab scores`: the catalogue, one score in full, and scores of inputs in a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from trimtab.cli.common.output import Json, examples
from trimtab.model.examples import example_path
from trimtab.scores import CATALOG, CLASSIC, Score, choose_score, evaluate_many
from trimtab.scores.arrays.samples import load_samples
from trimtab.scores.arrays.window import Floats
from trimtab.scores.prometheus.rules import RuleSettings, formula_rules
from trimtab.view.terminal import out, show_json, show_table

app = App(name="scores", help="Ways to tell how loaded a node is, and when to choose which.")

Mode = Literal["score", "avg1m"]
DEFAULT = "linear_amplified_ippd_k3"


@app.command(
    name="list",
    help_epilogue=examples("trimtab scores list", "trimtab scores list --json | jq '.[].name'"),
)
def list_scores(*, json: Json = False) -> None:
    """List all scores with when to choose them."""
    if json:
        show_json([_described(score) for score in CATALOG.values()])
        return
    rows = [(score.name, _minutes(score), score.choose) for score in CATALOG.values()]
    show_table(["score", "looks back", "choose it when"], rows, right=["looks back"])


@app.command(
    help_epilogue=examples("trimtab scores show sustained", "trimtab scores show ./my_score.py")
)
def show(name: str, *, json: Json = False) -> None:
    """Show one score: formula, strengths, weaknesses, record names and PromQL.

    Parameters
    ----------
    name
        A name or alias of the catalogue, or a Python file with a score of your own.
    """
    score = choose_score(name)
    if json:
        show_json({**_described(score), "rules": _rules(score)})
        return
    for title, text in _words(score):
        if text:
            out.print(f"{title:<12} {text}", markup=False)
    for rule in _rules(score):
        out.print(f"\n{rule['record']}\n  {rule['expr']}", markup=False)


@app.command(
    name="eval",
    help_epilogue=examples(
        "trimtab scores eval nodes.yaml",
        "trimtab scores eval nodes.yaml --score robust --score sustained",
        "trimtab scores eval nodes.yaml --all --json",
    ),
)
def evaluate(
    file: Path,
    *,
    score: Annotated[list[str] | None, Parameter(negative=())] = None,
    all_scores: Annotated[bool, Parameter(name="--all", negative=())] = False,
    mode: Mode = "avg1m",
    json: Json = False,
) -> None:
    """Compute scores of nodes from a file with their inputs.

    The file maps nodes to inputs, `n1: {cpu: 0.8, cpuPressure: 0.1, memory: 0.5}`, or is a list of
    `{time: 15, nodes: {...}}` with a sample every few seconds, or a snapshot whose query selected
    the base records.

    Parameters
    ----------
    file
        YAML or JSON.
    score
        A name, or a Python file with a score of your own; may be given more than once.
    all_scores
        All scores of the catalogue.
    mode
        From the mean of the last minute (avg1m), or from the last sample (score).
    """
    chosen = list(CATALOG.values()) if all_scores else [choose_score(n) for n in score or [DEFAULT]]
    samples = load_samples(example_path(file, "snapshots"))
    results = evaluate_many(chosen, samples.window, mode=mode)
    _show_results(samples.nodes, {n: values[0] for n, values in results.items()}, mode, json)


def _show_results(
    nodes: Sequence[str], results: dict[str, Floats], mode: Mode, as_json: bool
) -> None:
    if as_json:
        by_node = {n: dict(zip(nodes, v.tolist(), strict=True)) for n, v in results.items()}
        show_json({"mode": mode, "scores": by_node})
    elif len(results) <= 4:
        rows = [(n, *(f"{v[k]:.4f}" for v in results.values())) for k, n in enumerate(nodes)]
        show_table(["node", *results], rows, right=list(results))
    else:
        rows = [(name, *(f"{x:.4f}" for x in values)) for name, values in results.items()]
        show_table(["score", *nodes], rows, right=nodes)


def _described(score: Score) -> dict[str, Any]:
    return {
        "name": score.name,
        "aliases": score.aliases,
        "formula": score.formula,
        "choose": score.choose,
        "weakness": score.weakness,
        "answers": score.answers,
        "lookbackSeconds": score.lookback_s,
        "readsMigrations": score.reads_migrations,
        "classic": score in CLASSIC,
    }


def _words(score: Score) -> list[tuple[str, str]]:
    return [
        ("score", score.name),
        ("also called", ", ".join(score.aliases)),
        ("formula", score.formula),
        ("choose it", score.choose),
        ("beware", score.weakness),
        ("answers", score.answers),
        ("looks back", _minutes(score)),
    ]


def _minutes(score: Score) -> str:
    return f"{score.lookback_s / 60:g} min"


def _rules(score: Score) -> list[dict[str, str]]:
    """The rules of the score on 1-minute means, without the base records that all share."""
    found = formula_rules([score], "avg1m", RuleSettings(nodes=2))
    return [{"record": rule.record, "expr": rule.expr} for rule in found]
