"""Pictures and the changes between them."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from builders.values.pictures import pictures
from trimtab.web.feed.picture import Change, Picture, apply, difference


@given(st.lists(pictures, min_size=1, max_size=3))
def test_the_changes_lead_from_each_picture_to_the_next(seen: list[Picture]) -> None:
    state = Picture()
    for picture in seen:
        sent = msgspec.json.encode(difference(state, picture))
        state = apply(state, msgspec.json.decode(sent, type=Change))
        assert state == picture


@given(pictures)
def test_a_picture_that_stays_the_same_costs_nothing_but_its_time(picture: Picture) -> None:
    change = difference(picture, picture)
    assert msgspec.to_builtins(change) == {"at": picture.at}


@given(pictures, pictures)
def test_a_change_leaves_the_old_picture_as_it_was(old: Picture, new: Picture) -> None:
    before = msgspec.json.encode(old)
    apply(old, difference(old, new))
    assert msgspec.json.encode(old) == before
