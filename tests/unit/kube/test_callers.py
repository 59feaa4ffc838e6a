"""Who may call a webhook, and how much a caller may send."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.types import Message

from trimtab.kube.http.callers import API_SERVER, PEER, Callers, TooLarge, bounded_body, common_name

CERTIFICATE = {"subject": ((("organizationName", "x"),), (("commonName", API_SERVER),))}


def test_with_a_ca_only_the_expected_name_is_admitted() -> None:
    callers = Callers(Path("ca.crt"))
    assert callers.admit({PEER: API_SERVER})
    assert not callers.admit({PEER: "kwok"})
    assert not callers.admit({})
    assert Callers(Path("ca.crt"), "front").admit({PEER: "front"})


def test_without_a_ca_everybody_is() -> None:
    assert Callers().admit({})


def test_the_common_name_is_read_from_a_certificate() -> None:
    assert common_name(CERTIFICATE) == API_SERVER
    assert common_name({}) == common_name(None) == ""


class Sender:
    """Sends parts until nobody asks for more."""

    def __init__(self, parts: list[bytes]) -> None:
        self.asked = 0
        self._parts: Iterator[bytes] = iter(parts)
        self._left = len(parts)

    async def __call__(self) -> Message:
        self.asked += 1
        self._left -= 1
        return {"type": "http.request", "body": next(self._parts), "more_body": self._left > 0}


async def test_a_body_is_put_together() -> None:
    assert await bounded_body(Sender([b"ab", b"", b"c"]), 3) == b"abc"


async def test_a_body_beyond_the_limit_is_not_read_to_its_end() -> None:
    sender = Sender([b"x" * 1024] * 100_000)
    with pytest.raises(TooLarge, match="larger than 1 MiB"):
        await bounded_body(sender, 1024**2)
    assert sender.asked == 1025
