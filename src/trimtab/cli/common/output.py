"""What commands share in talking to people and programs: flags, examples, results, a question."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

from cyclopts import Parameter

T = TypeVar("T")
Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON instead of text.")]
Flag = Annotated[bool, Parameter(negative=())]
OutputFile = Annotated[Path | None, Parameter(name=("--output", "-o"))]


def examples(*commands: str) -> str:
    """For `help_epilogue`, one command a line: docstrings have no place for it that is shown."""
    return "\n".join(("Examples:", *(f"  {command}" for command in commands)))


def emit(result: T, json: bool, show: Callable[[T], object], document: object = None) -> None:
    """Print a result: as JSON (`document` where that is more than the result), or by `show`."""
    if json:
        from trimtab.view.terminal import show_json

        show_json(result if document is None else document)
    else:
        show(result)


def agreed(question: str) -> bool:
    """Ask on the terminal; without a terminal the answer is no."""
    if not sys.stdin.isatty():
        return False
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
