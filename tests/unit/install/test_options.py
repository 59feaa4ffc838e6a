"""Settings are options: what a field declares is what a command line takes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, field

from trimtab.errors import ConfigError
from trimtab.kube.runtime.options import (
    INTERNAL,
    Bytes,
    Listening,
    Option,
    Port,
    Seconds,
    declared,
    read,
    written,
)


def _pairs(texts: tuple[str, ...], name: str) -> dict[str, int]:
    return {key: int(value) for key, _, value in (text.partition("=") for text in texts)}


def _texts(pairs: Mapping[str, int]) -> list[str]:
    return [f"{key}={value}" for key, value in pairs.items()]


class Inner(Struct, frozen=True):
    most: Annotated[int, Option(names=("--parallel",), least=1, most=9)] = 2
    """How many at a time."""


class Example(Listening, frozen=True, kw_only=True):
    port: Port = 8099
    mode: Literal["a", "b"] = "a"
    """Which way."""
    every: Seconds = 30.0
    """Time between two
    turns."""
    rate: Bytes = 1024.0
    limits: Inner = Inner()
    pairs: Annotated[dict[str, int], Option(parse=_pairs, write=_texts, several=True)] = field(
        default_factory=dict
    )
    file: Path | None = None
    loud: bool = False
    eager: bool = True
    secret: Annotated[int, INTERNAL] = 7


def test_name_default_and_help_of_an_option_come_from_its_field() -> None:
    options = {each.names[0]: each for each in declared(Example)}
    assert list(options) == [
        *("--host", "--port", "--mode", "--every", "--rate", "--parallel"),
        *("--pairs", "--file", "--loud", "--eager"),
    ]
    assert options["--every"].help == "Time between two turns."
    assert options["--port"].help == "The port to listen on; 0 takes a free one."
    assert (options["--port"].default, options["--parallel"].default) == (8099, 2)


def test_texts_are_parsed_and_a_mistake_names_the_option() -> None:
    made = read(Example, {"every": "2m", "limits_most": 5, "pairs": ("x=1", "y=2")})
    assert made == Example(every=120.0, limits=Inner(5), pairs={"x": 1, "y": 2})
    with pytest.raises(ConfigError, match="--every: 'soon' is not a duration"):
        read(Example, {"every": "soon"})


def test_what_is_the_default_is_not_written_unless_asked_for() -> None:
    assert written(Example()) == ()
    assert written(Example(), always=frozenset({"port"})) == ("--port=8099",)
    assert written(Example(loud=True, eager=False)) == ("--loud", "--no-eager")


EXAMPLES = st.builds(
    Example,
    port=st.integers(0, 65535),
    mode=st.sampled_from(["a", "b"]),
    every=st.integers(0, 10**6).map(float),
    rate=st.integers(0, 2**40).map(float),
    limits=st.builds(Inner, st.integers(1, 9)),
    pairs=st.dictionaries(st.sampled_from("xyz"), st.integers(0, 9)),
    file=st.none() | st.just(Path("/etc/x")),
)


@given(EXAMPLES)
def test_a_written_command_line_reads_back_as_the_same_settings(settings: Example) -> None:
    assert read(Example, _given(written(settings))) == settings


def _given(argv: tuple[str, ...]) -> dict[str, Any]:
    """What cyclopts would hand over."""
    found: dict[str, Any] = {}
    for each in declared(Example):
        texts = [a.partition("=")[2] for a in argv if a.partition("=")[0] == each.names[0]]
        if not texts:
            continue
        if each.option.parse is not None:
            found[each.key] = tuple(texts) if each.option.several else texts[0]
        else:
            found[each.key] = {"port": int, "limits_most": int, "file": Path}.get(each.key, str)(
                texts[0]
            )
    return found
