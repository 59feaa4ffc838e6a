"""Choosing ports among those that others have."""

import os
import socket

import pytest

from trimtab.errors import ConfigError
from trimtab.lab.ports import MovedPort, check_address, choose_ports, holder, is_free


def chosen(
    wanted: dict[str, int], reserved: dict[int, str], busy: set[int]
) -> tuple[dict[str, int], list[MovedPort]]:
    return choose_ports(wanted, reserved, lambda port: port not in busy, lambda _port: "nginx")


@pytest.mark.parametrize(
    ("wanted", "reserved", "busy", "expected"),
    [
        pytest.param({"a": 10}, {}, set(), {"a": 10}, id="free"),
        pytest.param({"a": 10}, {}, {10, 11}, {"a": 12}, id="in use: the next free one"),
        pytest.param({"a": 10}, {10: "lab x"}, {11}, {"a": 12}, id="another lab's, and in use"),
        pytest.param({"a": 10, "b": 10}, {}, set(), {"a": 10, "b": 11}, id="wanted twice"),
        pytest.param({"a": 10, "b": 11}, {}, {10}, {"a": 11, "b": 12}, id="pushed along"),
    ],
)
def test_a_taken_port_moves_up(
    wanted: dict[str, int], reserved: dict[int, str], busy: set[int], expected: dict[str, int]
) -> None:
    assert chosen(wanted, reserved, busy)[0] == expected


def test_a_move_says_who_has_the_port() -> None:
    _, moved = chosen({"api": 10, "web": 20}, {20: 'lab "other"'}, {10})
    assert [str(move) for move in moved] == [
        "port 10 (api) is taken by nginx; using 11",
        'port 20 (web) is taken by lab "other"; using 21',
    ]


def test_without_any_free_port_it_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match="no free port from 10 to 509; stop what uses them"):
        choose_ports({"a": 10}, {}, lambda _port: False, lambda _port: "")


def test_a_listening_socket_is_seen_with_its_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not is_free("127.0.0.1", port)
        assert holder(port).endswith(f"(pid {os.getpid()})")
    assert is_free("127.0.0.1", port)


def test_a_foreign_address_is_refused() -> None:
    check_address("127.0.0.1")
    with pytest.raises(ConfigError, match=r"--listen 192\.0\.2\.1: not an address"):
        check_address("192.0.2.1")
