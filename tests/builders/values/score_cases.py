"""Reads `.score` files; their form is described in tests/contract/scores/cases/README.md."""

from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import fields

from trimtab.scores import Mode, Window, window
from trimtab.scores.arrays.samples import NodeInputs

INPUTS = [field.encode_name for field in fields(NodeInputs)]


class Expectation(Struct, frozen=True):
    """The scores of all nodes, in name order."""

    score: str
    mode: Mode
    values: list[float]


class Case(Struct, frozen=True):
    """What nodes looked like, and what follows."""

    nodes: list[str]
    window: Window
    step_s: int
    expected: list[Expectation]


def read_case(path: Path) -> Case:
    """Parse one file; a mistake in it is an AssertionError that names the line."""
    step_s, loads = 0, dict[tuple[str, str], list[float]]()
    evals: list[tuple[str, str, dict[str, float]]] = []
    for number, text in enumerate(path.read_text().splitlines(), 1):
        match text.partition("#")[0].split():
            case []:
                continue
            case ["load", step]:
                step_s = int(step.removesuffix("s"))
            case ["eval", score, mode]:
                evals.append((score, mode, {}))
            case [node, value] if evals:
                evals[-1][2][node] = float(value)
            case [node, column, *values] if column in INPUTS and not evals:
                loads[node, column] = [v for word in values for v in _repeated(word)]
            case _:
                raise AssertionError(f"{path.name}:{number}: cannot read {text!r}")
    return _assembled(path, step_s, loads, evals)


def _repeated(word: str) -> list[float]:
    value, _, times = word.partition("x")
    return [float(value)] * int(times or 1)


def _assembled(
    path: Path,
    step_s: int,
    loads: dict[tuple[str, str], list[float]],
    evals: list[tuple[str, str, dict[str, float]]],
) -> Case:
    nodes = sorted({node for node, _ in loads})
    samples = max(len(values) for values in loads.values())
    values = np.zeros((samples, len(nodes), len(INPUTS)))
    for (node, column), given in loads.items():
        held = given + given[-1:] * (samples - len(given))
        values[:, nodes.index(node), INPUTS.index(column)] = held
    expected = []
    for score, mode, by_node in evals:
        assert sorted(by_node) == nodes, f"{path.name}: eval {score} {mode} needs every node"
        assert mode in ("score", "avg1m"), f"{path.name}: there is no mode {mode}"
        expected.append(Expectation(score, mode, [by_node[n] for n in nodes]))  # type: ignore[arg-type]
    return Case(nodes, window(values, np.arange(samples) * float(step_s)), step_s, expected)
