"""What the projector decides about a ConfigMap: each text is judged once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import ConfigError
from trimtab.kube.resources import ConfigMap, ObjectMeta
from trimtab.stacks.loop.projector.projection import (
    ACCEPTED,
    JUDGED,
    OUTCOME,
    RUNNING,
    WISHED,
    Keep,
    Part,
    Refuse,
    Use,
    Verdict,
    digest,
    judge,
    needs_seeding,
    outcome,
)


def upper(text: str) -> str:
    if "bad" in text:
        raise ConfigError("it is bad")
    return text.upper()


PART = Part("ns", "name", "key", "file", "program", upper)


def a_map(text: str | None, **said: str) -> ConfigMap:
    names = {"judged": JUDGED, "running": RUNNING, "outcome": OUTCOME, "wished": WISHED}
    annotations = {names[key]: value for key, value in said.items()}
    data = {} if text is None else {"key": text}
    return ConfigMap(metadata=ObjectMeta(annotations=annotations), data=data)


def running(text: str) -> dict[str, str]:
    return {"judged": digest(text), "running": digest(text), "outcome": ACCEPTED}


BAD = digest("bad")
REFUSED = {"judged": BAD, "running": digest("a"), "outcome": "refused: it is bad"}


@pytest.mark.parametrize(
    ("config", "on_disk", "verdict"),
    [
        pytest.param(a_map("a"), None, Use(digest("a"), "A"), id="the first text"),
        pytest.param(a_map("b", **running("a")), "A", Use(digest("b"), "B"), id="another text"),
        pytest.param(a_map("a", **running("a")), "A", Keep(), id="nothing new"),
        pytest.param(
            a_map("a", **running("a")), "a", Use(digest("a"), "A"), id="the file is of another pace"
        ),
        pytest.param(
            a_map("bad", **running("a")), "A", Refuse(digest("bad"), "it is bad"), id="bad"
        ),
        pytest.param(a_map("bad", **REFUSED), "A", Keep(), id="refused before"),
        pytest.param(
            a_map("a", **REFUSED), "A", Use(digest("a"), "A"), id="back from a refused text"
        ),
        pytest.param(
            a_map("a", judged=digest("a"), outcome="refused: by the program"),
            "B",
            Keep(),
            id="refused by the program before",
        ),
    ],
)
def test_a_text_is_used_refused_or_kept(
    config: ConfigMap, on_disk: str | None, verdict: Verdict
) -> None:
    assert judge(PART, config, on_disk) == verdict


def test_a_map_without_the_key_is_refused_once_with_the_keys_it_has() -> None:
    config = ConfigMap(data={"policy.yml": "a"})
    refusal = judge(PART, config, "A")
    assert refusal == Refuse(digest(""), "it has no key key (it has policy.yml)")
    again = a_map(None, outcome=outcome("it has no key key (it has none)"))
    assert judge(PART, again, "A") == Keep()


@given(st.text(max_size=20), st.text(max_size=20))
def test_what_was_accepted_is_kept_from_then_on(text: str, other: str) -> None:
    config = a_map(text, **running(text))
    verdict = judge(PART, a_map(text), other)
    if isinstance(verdict, Use):
        assert judge(PART, config, verdict.text) == Keep()


@pytest.mark.parametrize(
    ("config", "needed"),
    [
        pytest.param(None, True, id="a new lab"),
        pytest.param(a_map("x", wished=digest("w")), False, id="somebody applied another text"),
        pytest.param(a_map("x", wished=digest("v")), True, id="up asks for something else"),
        pytest.param(a_map("x"), True, id="made by somebody else"),
    ],
)
def test_a_wish_is_put_there_once(config: ConfigMap | None, needed: bool) -> None:
    assert needs_seeding(config, "w") is needed


def test_an_outcome_is_one_line_of_bounded_length() -> None:
    said = outcome("line one\nline two" + "x" * 5000)
    assert said.startswith("refused: line one line two")
    assert len(said) == 2000
