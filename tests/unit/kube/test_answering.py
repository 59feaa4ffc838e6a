"""Head and body of an answer leave together; nothing is lost when a connection closes."""

import asyncio
from collections.abc import Iterable

import pytest

from trimtab.kube.http.web import JOINED_BYTES, Together


class Wire(asyncio.Transport):
    """Writes down what reaches it, call by call."""

    def __init__(self) -> None:
        super().__init__({"peername": "somebody"})
        self.sent: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data))

    def writelines(self, data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.sent.append(b"".join(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("size", [4, 3 * JOINED_BYTES], ids=["small", "large"])
async def test_what_is_written_in_one_turn_is_sent_at_once(size: int) -> None:
    wire = Wire()
    transport = Together(wire)
    transport.write(b"head")
    transport.write(b"b" * size)
    assert wire.sent == []
    await asyncio.sleep(0)
    assert wire.sent == [b"head" + b"b" * size]
    transport.write(b"next")
    await asyncio.sleep(0)
    assert wire.sent[1:] == [b"next"]


async def test_a_close_sends_what_is_held_first() -> None:
    wire = Wire()
    transport = Together(wire)
    transport.write(b"last words")
    transport.close()
    assert (wire.sent, wire.closed) == ([b"last words"], True)
    await asyncio.sleep(0)
    assert wire.sent == [b"last words"]


async def test_nothing_is_sent_on_a_connection_that_was_lost() -> None:
    wire = Wire()
    transport = Together(wire)
    transport.write(b"too late")
    wire.closed = True
    await asyncio.sleep(0)
    assert wire.sent == []


async def test_everything_else_is_the_transports_own() -> None:
    assert Together(Wire()).get_extra_info("peername") == "somebody"
