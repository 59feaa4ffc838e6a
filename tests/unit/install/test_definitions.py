"""Definitions are derived: the structure from the Struct, the rest from notes."""

import re
from datetime import datetime
from math import inf
from typing import Any, Literal

import pytest
from msgspec import field

from trimtab.install.definitions import Note, schema_of
from trimtab.install.vm.crd import crds
from trimtab.kube.resources import Object, Wire
from trimtab.model.load.curve import Constant, Steps, Trace


class Part(Wire, frozen=True):
    key: str
    amount: str | int = 0


class Thing(Object, frozen=True):
    state: Literal["new", "done"] | Literal[""] = ""
    how_many: int = 3
    gain: float | None = None
    since: datetime | None = None
    parts: tuple[Part, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    anything: Any = None
    curve: Constant | Steps | Trace | None = None


NOTES: dict[str, Note | None] = {
    "parts": Note(most=8),
    "parts[].key": Note(most=63),
    "parts[].amount": Note(most=32),
    "labels": Note(most=4),
    "labels[]": Note(most=63),
    "curve.points": Note(most=500),
    "curve.values": Note(most=2000),
}


def thing(**notes: Note | None) -> dict[str, Any]:
    properties: dict[str, Any] = schema_of(Thing, NOTES | notes)["properties"]
    return properties


def test_a_field_without_a_note_is_in_the_definition_under_its_name_on_the_wire() -> None:
    assert thing()["howMany"] == {"type": "integer", "minimum": 0}
    assert thing()["since"] == {"type": "string", "format": "date-time"}
    assert thing()["anything"] == {"x-kubernetes-preserve-unknown-fields": True}
    assert "metadata" not in thing()


def test_lists_and_maps_have_the_schema_of_their_entries() -> None:
    text = {"type": "string", "maxLength": 63}
    assert thing()["labels"] == {
        "type": "object",
        "additionalProperties": text,
        "maxProperties": 4,
    }
    parts = thing()["parts"]
    assert (parts["type"], parts["maxItems"]) == ("array", 8)
    assert parts["items"]["properties"]["key"] == text
    assert parts["items"]["properties"]["amount"]["x-kubernetes-int-or-string"]


def test_choices_come_from_the_literal_in_its_order_without_the_empty_one() -> None:
    assert thing()["state"]["enum"] == ["new", "done"]
    assert thing(state=Note(choices=("", "done")))["state"]["enum"] == ["", "done"]


def test_what_the_struct_or_a_note_requires_is_required() -> None:
    assert thing()["parts"]["items"]["required"] == ["key"]
    assert schema_of(Thing, NOTES | {"gain": Note(required=True)})["required"] == ["gain"]


def test_the_server_fills_in_the_default_of_the_struct_where_a_note_says_so() -> None:
    assert "default" not in thing()["howMany"]
    assert thing(howMany=Note(filled=True))["howMany"]["default"] == 3


def test_a_note_adds_sentence_limits_and_rules() -> None:
    note = Note("How much.", least=-1, most=1, rules={"self != 0": "gain must not be 0"})
    assert thing(gain=note)["gain"] == {
        "type": "number",
        "minimum": -1,
        "maximum": 1,
        "description": "How much.",
        "x-kubernetes-validations": [{"rule": "self != 0", "message": "gain must not be 0"}],
    }
    assert "minimum" not in thing(gain=Note(least=-inf))["gain"]


@pytest.mark.parametrize("path", ["parts", "parts[].key", "parts[].amount", "labels", "labels[]"])
def test_a_text_list_or_map_without_a_bound_is_an_error_that_names_it(path: str) -> None:
    notes = {name: note for name, note in NOTES.items() if name != path}
    sentence = f"Thing: {path} has no bound: give it a Note with `most`"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        schema_of(Thing, notes)


@pytest.mark.parametrize("path", ["sincee", "parts[].since", "howMany.least", "labels[][]"])
@pytest.mark.parametrize("note", [Note("Since when."), None])
def test_a_note_without_a_field_is_an_error_that_names_it(path: str, note: Note | None) -> None:
    sentence = f"Thing has no {path}: remove its Note, or add the field"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        schema_of(Thing, {**NOTES, path: note})


def test_a_type_without_a_schema_is_an_error_until_a_note_gives_one() -> None:
    class Odd(Wire, frozen=True):
        pair: tuple[int, str] = (0, "")

    with pytest.raises(ValueError, match=r"^Odd: pair is a tuple\[int, str\]: give it a Note"):
        schema_of(Odd, {})
    given = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert schema_of(Odd, {"pair": Note(instead=given)})["properties"] == {"pair": given}


def test_a_field_can_be_left_out() -> None:
    assert "gain" not in thing(gain=None)


def test_tagged_structs_share_one_object_and_need_only_the_tag() -> None:
    curve = thing()["curve"]
    assert curve["required"] == ["type"]
    assert curve["properties"]["type"]["enum"] == ["constant", "steps", "trace"]
    known = {"type", "value", "points", "repeat", "delay", "values", "interval"}
    assert curve["properties"].keys() == known
    either = {"x-kubernetes-preserve-unknown-fields": True}
    assert curve["properties"]["repeat"] == either  # seconds of steps, a yes or no of a trace
    point = curve["properties"]["points"]["items"]
    assert (point["minItems"], point["maxItems"]) == (2, 2)


@pytest.mark.parametrize("resource", ["cpu", "memory"])
def test_a_curve_needs_the_fields_without_a_default_and_has_none_of_another(resource: str) -> None:
    version = crds()[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    load = version["properties"]["spec"]["properties"]["load"]["properties"][resource]
    rules = {rule["message"]: rule["rule"] for rule in load["x-kubernetes-validations"]}
    diurnal = rules["a diurnal curve needs low, high"]
    assert diurnal == "self.type != 'diurnal' || (has(self.low) && has(self.high))"
    (foreign,) = (text for text in rules if text.startswith("a steps curve has no "))
    assert set(foreign.removeprefix("a steps curve has no ").split(", ")) == (
        load["properties"].keys() - {"type", "points", "delay", "repeat"}
    )
