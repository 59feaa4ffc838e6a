"""`trimtab sim --live` from its arguments to what it asks, prints and returns.

One small server plays both sides; tests/system/stacks has the real ones.
"""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import pytest

from builders.labs.lab import a_lab_on_disk
from conformance.apiserver import free_port
from trimtab.cli.simulation.sim.commands import app
from trimtab.cli.simulation.sim.live import lab_token
from trimtab.errors import ConfigError, TrimtabError, Unavailable
from trimtab.stacks.loop.settings import EXPORTER_TOKEN_FILE

SCORES = {"n1": 0.9, "n2": 0.2, "n3": 0.1}
USE = {"n1": 0.9, "n2": 0.3, "n3": 0.1}


def a_scene() -> dict[str, Any]:
    def vm(name: str) -> dict[str, Any]:
        return {"id": name, "cpu_consumption": 0.1, "memory_consumption": 0.1}

    nodes = {"n1": ["a", "b", "c"], "n2": ["d"], "n3": ["e"]}
    listed = [{"name": node, "vms": [vm(name) for name in vms]} for node, vms in nodes.items()]
    return {"nodes": listed, "unplaced": []}


class Sides(ThreadingHTTPServer):
    """Prometheus and exporter at one address, and what they were asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scores: dict[str, float] = SCORES
        self.lands_on = "n3"
        self.stuck = ""
        self.refuses = ""
        self.feedback: list[dict[str, Any]] = []
        self.queries: list[str] = []
        self.tokens: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, path: str, body: bytes) -> tuple[int, Any]:
        if path == "/scenario":
            return 200, a_scene()
        if path == "/feedback":
            return self._move(json.loads(body)["migrations"])
        query = parse_qs(body.decode())["query"][0]
        self.queries.append(query)
        label, found = ("node", USE) if "usage_ratio" in query else ("instance", self.scores)
        result = [{"metric": {label: n}, "value": [1.0, str(v)]} for n, v in found.items()]
        return 200, {"status": "success", "data": {"resultType": "vector", "result": result}}

    def _move(self, intended_moves: list[dict[str, Any]]) -> tuple[int, Any]:
        if self.refuses:
            return 403, {"title": "Not allowed", "status": 403, "detail": self.refuses}
        self.feedback += intended_moves
        moved = [
            {
                "vm_id": move["vm_id"],
                "from_node": move["from_node"],
                "requested_node": move.get("to_node"),
                "actual_node": self.lands_on,
            }
            | ({"error": self.stuck} if self.stuck else {})
            for move in intended_moves
        ]
        return 200, {"status": "success", "migrations": moved}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: else 40 ms each

    def _answer(self) -> None:
        sides = self.server
        assert isinstance(sides, Sides)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        sides.tokens.append(self.headers.get("Authorization", ""))
        status, answer = sides.answer(self.path, body)
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = _answer

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def sides() -> Iterator[Sides]:
    with Sides() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(*arguments: str) -> int:
    result = app(list(arguments), result_action="return_value", exit_on_error=False)
    assert isinstance(result, int)
    return result


def live(sides: Sides, *arguments: str) -> int:
    return run("--live", sides.url, sides.url, *arguments)


def test_the_vms_are_moved_and_both_nodes_told(
    sides: Sides, capsys: pytest.CaptureFixture[str]
) -> None:
    assert live(sides) == 0
    assert [move["from_node"] for move in sides.feedback] == ["n1", "n1"]
    assert [move["to_node"] for move in sides.feedback] == ["n3", "n3"]
    text = capsys.readouterr().out
    assert "over-utilised" in text
    assert text.count("as intended") == 2
    assert "2 of 2 VMs move, 2 to the intended node" in text


def test_a_scheduler_that_knows_better_is_no_failure(
    sides: Sides, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    sides.lands_on = "n2"
    assert live(sides, "--json") == 0
    result = json.loads(capsysbinary.readouterr().out)
    assert [(m["intendedNode"], m["actualNode"]) for m in result["moves"]] == [("n3", "n2")] * 2
    assert result["decision"]["nodes"][0]["kind"] == "over"


def test_a_dry_run_asks_for_nothing(sides: Sides, capsys: pytest.CaptureFixture[str]) -> None:
    assert live(sides, "--dry-run") == 0
    assert sides.feedback == []
    assert "nothing was moved" in capsys.readouterr().out


def test_a_vm_that_cannot_move_makes_the_exit_code_1(
    sides: Sides, capsys: pytest.CaptureFixture[str]
) -> None:
    sides.stuck = "not live-migratable"
    assert live(sides) == 1
    assert "not live-migratable" in capsys.readouterr().out


def test_a_level_cluster_is_left_alone(sides: Sides, capsys: pytest.CaptureFixture[str]) -> None:
    sides.scores = dict.fromkeys(SCORES, 0.3)
    assert live(sides) == 0
    assert sides.feedback == []
    assert "All nodes are underutilized" in capsys.readouterr().out


def test_a_score_without_samples_makes_the_exit_code_1(
    sides: Sides, capsys: pytest.CaptureFixture[str]
) -> None:
    sides.scores = {}
    assert live(sides) == 1
    assert "are the rules loaded" in capsys.readouterr().err


def test_the_score_and_the_policys_numbers_can_be_chosen(sides: Sides) -> None:
    assert live(sides, "--score", "cpu_focused", "--limits", "1:1", "--thresholds", "0:5") == 0
    assert sides.queries[-1] == "descheduler:node:cpu_focused:avg1m"
    assert len(sides.feedback) == 1


def test_the_token_goes_to_the_exporter(sides: Sides, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret\n")
    live(sides, "--token-file", str(token))
    assert sides.tokens.count("Bearer secret") == 2  # GET /scenario, POST /feedback


def test_a_refusal_is_told_in_the_exporters_words(sides: Sides) -> None:
    sides.refuses = "start it with --allow-scenario"
    with pytest.raises(TrimtabError, match="start it with --allow-scenario"):
        live(sides)


def test_nobody_at_the_address_is_one_clear_line(sides: Sides) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(Unavailable, match=r"the exporter at .* does not answer"):
        run("--live", sides.url, nobody)
    with pytest.raises(Unavailable, match=r"Prometheus at .* does not answer"):
        run("--live", nobody, sides.url)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--live", "a", "b"], "PROMETHEUS 'a' is no address", id="no address"),
        pytest.param(["--dry-run", "s.yaml"], "--dry-run: of no use without", id="dry run of what"),
        pytest.param(["--live", "http://a", "http://b", "s.yaml"], "SCENARIO: of no use", id="two"),
        pytest.param(
            ["--live", "http://a", "http://b", "--duration", "1h", "-o", "x"],
            "--duration, --out: of no use with --live", id="options of a simulation",
        ),
        pytest.param([], "name a scenario file, or a running loop", id="nothing at all"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_line(arguments: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        run(*arguments)
    assert message in str(error.value)


def test_the_token_of_a_lab_of_ones_own_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    lab = a_lab_on_disk(tmp_path / "trimtab/labs/mine", ports={"exporter": 8000})
    assert lab_token("http://localhost:8000") is None
    (lab.path / EXPORTER_TOKEN_FILE).write_text("s3cret")
    assert lab_token("http://localhost:8000") == lab.path / EXPORTER_TOKEN_FILE
    assert lab_token("http://127.0.0.1:8001") is None
    assert lab_token("http://exporter.example:8000") is None


def test_a_lab_is_named_as_in_every_other_command(
    sides: Sides, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    port = sides.server_address[1]
    lab = a_lab_on_disk(
        tmp_path / "trimtab/labs/mine", ports={"prometheus": port, "exporter": port}
    )
    (lab.path / EXPORTER_TOKEN_FILE).write_text("s3cret")
    assert run("--lab", "mine") == 0
    assert [each["vm_id"] for each in sides.feedback] == ["b", "c"]
    with pytest.raises(
        ConfigError, match=r"/no/such .*: .* give them with --live PROMETHEUS EXPORTER"
    ):
        run("--kubeconfig", "/no/such")
