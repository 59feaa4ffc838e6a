"""Without Kubernetes everything acts in memory, over real HTTP; and how a start can fail."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import pytest

from builders.labs.exporter_http import ExporterProcess, running_exporter
from builders.proxies.cannedapi import kubeconfig_for
from builders.values.exporter import by_node, samples
from builders.waiting import LIMIT_S, wait_until
from conformance.apiserver import free_port

EXAMPLES = Path(__file__).parents[3] / "examples" / "scenarios"
SCENARIO = f"--scenario={EXAMPLES / 'one-hot-node.yaml'}"
HOT = {
    "nodes": [
        {
            "name": "n1",
            "vms": [
                {"id": "a", "cpu_consumption": 0.5, "memory_consumption": 0.25},
                {"id": "b", "cpu_consumption": 0.25, "memory_consumption": 0.125},
            ],
        },
        {"name": "n2", "vms": []},
    ]
}


@pytest.fixture
def hot(exporter: ExporterProcess) -> ExporterProcess:
    """The shared exporter with two VMs on the first of two nodes."""
    assert exporter.post("/scenario", HOT).status_code == 200
    return exporter


def test_it_says_that_there_is_no_kubernetes(hot: ExporterProcess) -> None:
    assert hot.get("/health").json() == {
        "status": "healthy",
        "nodes": 2,
        "pod_manager_enabled": False,
        "source": "scenario",
    }
    assert '"event": "running without pod management", "level": "warning"' in hot.log
    assert "metrics are calculated from the scenario's VMs directly" in hot.log


def test_metrics_follow_from_the_scenario(hot: ExporterProcess) -> None:
    page = hot.page()
    assert by_node(page, "node_cpu_usage_ratio") == {"n1": 0.75, "n2": 0.0}
    assert by_node(page, "node_memory_usage_ratio") == {"n1": 0.375, "n2": 0.0}
    assert by_node(page, "node_vm_count") == {"n1": 2.0, "n2": 0.0}
    assert by_node(page, "trimtab_node_order") == {"n1": 0.0, "n2": 1.0}
    names = {each.name for each in samples(page)}
    assert {
        "trimtab_time_scale",
        "node_cpu_seconds_total",
        "trimtab_exporter_requests_total",
    } <= names


def test_a_move_moves_the_metrics(hot: ExporterProcess) -> None:
    wishes = [{"vm_id": "a", "from_node": "n1", "to_node": "n2"}]
    answer = hot.post("/feedback", {"migrations": wishes}).json()
    assert answer == {
        "status": "success",
        "migrations": [
            {"vm_id": "a", "from_node": "n1", "requested_node": "n2", "actual_node": "n2"}
        ],
    }
    assert hot.metric("node_cpu_usage_ratio") == {"n1": 0.25, "n2": 0.5}


def test_refreshing_names_every_node(hot: ExporterProcess) -> None:
    assert hot.post("/refresh").json() == {
        "status": "success",
        "refreshed": ["n1", "n2"],
        "failed": [],
        "total": 2,
    }


def test_one_of_several_scenarios_is_chosen_by_name(hot: ExporterProcess) -> None:
    several = {"first": [], "second": HOT["nodes"]}
    assert hot.post("/scenario?name=second", several).json()["nodes"] == HOT["nodes"]
    missing = hot.post("/scenario?name=third", several)
    assert (missing.status_code, "third" in missing.json()["detail"]) == (422, True)


def test_a_bad_scenario_changes_nothing(hot: ExporterProcess) -> None:
    bad = {"nodes": [*HOT["nodes"], {"name": "n3", "vms": [{"id": "c"}]}]}
    refused = hot.post("/scenario", bad)
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["field"] == "scenario[2].vms[0].cpu_consumption"
    assert hot.get("/scenario").json()["nodes"] == HOT["nodes"]


def test_above_fifty_nodes_the_exporter_computes_the_pareto_score(hot: ExporterProcess) -> None:
    scenario = """
name: wide
nodes: [{name: n, count: 60}]
vms: [{name: vm, count: 120, cpu: 4, memory: 8Gi, utilization: {cpu: {min: 0.1, max: 0.9}}}]
"""
    assert hot.post("/scenario", scenario).status_code == 200
    wait_until(lambda: len(hot.metric("trimtab_node_pareto_front")) == 60, "no scores")
    page = hot.page()
    assert "trimtab_node_pair{" not in page
    assert len(by_node(page, "trimtab_node_pareto_front_avg1m")) == 60
    assert max(by_node(page, "trimtab_node_pareto_front").values()) == 1.0


def test_loading_and_scraping_at_once_end_both(hot: ExporterProcess) -> None:
    """An earlier exporter locked itself up when it loaded a scenario."""
    with ThreadPoolExecutor(4) as pool:
        loads = [pool.submit(hot.post, "/scenario", HOT) for _ in range(4)]
        pages = [pool.submit(hot.get, "/metrics") for _ in range(8)]
    assert {each.result().status_code for each in [*loads, *pages]} == {200}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nowhere", 404), ("PUT", "/scenario", 405), ("GET", "/feedback", 405)],
)
def test_wrong_paths_and_methods_are_problems_too(
    method: str, path: str, status: int, hot: ExporterProcess
) -> None:
    answer = hot.http.request(method, path)
    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_without_end_is_cut_short(hot: ExporterProcess) -> None:
    answer = hot.post("/scenario", "#" * (16 * 1024**2 + 1))
    assert (answer.status_code, answer.json()["title"]) == (413, "Too large")


def test_another_origin_may_look_but_not_touch(hot: ExporterProcess) -> None:
    page = hot.http.get("/metrics", headers={"Origin": "http://evil.example"})
    assert page.status_code == 200
    for path in ("/refresh", "/feedback", "/scenario"):
        assert hot.post(path, HOT, Origin="http://evil.example").status_code == 403


def test_it_ends_well_and_a_token_opens_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret")
    with running_exporter(tmp_path, SCENARIO, f"--token-file={tmp_path / 'token'}") as exporter:
        foreign = {"Host": "exporter.example"}
        assert exporter.post("/refresh", **foreign).status_code == 401
        assert exporter.post("/refresh").status_code == 401
        assert exporter.get("/scenario").status_code == 200
        wrong = exporter.post("/refresh", **foreign, Authorization="Bearer nope")
        assert wrong.status_code == 401
        right = exporter.post("/refresh", **foreign, Authorization="Bearer s3cret")
        assert right.status_code == 200
        assert exporter.stop() == 0


def test_an_api_server_that_does_not_answer_is_done_without(tmp_path: Path) -> None:
    config = kubeconfig_for(tmp_path, free_port())
    with running_exporter(tmp_path, SCENARIO, f"--kubeconfig={config}") as exporter:
        assert exporter.get("/health").json()["source"] == "scenario"
        assert "running without pod management" in exporter.log


class _Versioned(BaseHTTPRequestHandler):
    """An API server of which only the version is known."""

    def do_GET(self) -> None:
        body = b'{"major":"1"}' if self.path.startswith("/version") else b"{}"
        self.send_response(200 if self.path.startswith("/version") else 503)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@contextmanager
def versioned_server() -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), _Versioned)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def failing(*flags: str) -> tuple[int, str]:
    """Exit code and last words of an exporter that does not start."""
    done = subprocess.run(
        [sys.executable, "-m", "trimtab.cli", "run", "exporter", *flags],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    return done.returncode, done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        pytest.param([], "pass --kubeconfig", id="neither a cluster nor a scenario"),
        pytest.param(["--listen=8000", SCENARIO], "--listen: '8000'", id="no address"),
        pytest.param(["--token-file=none", SCENARIO], "--token-file none", id="no token"),
        pytest.param(["--scenario=none.yaml"], "none.yaml: cannot read", id="no such scenario"),
        pytest.param(["--kubeconfig=none", SCENARIO], "kubeconfig none", id="no such kubeconfig"),
        pytest.param(["--pressure={}}", SCENARIO], "--pressure", id="pressure that is not JSON"),
    ],
)
def test_a_bad_configuration_ends_with_2(flags: list[str], words: str) -> None:
    code, said = failing(*flags)
    assert (code, words in said) == (2, True), said


def test_a_scenario_for_a_cluster_needs_the_permission_to_write_it(tmp_path: Path) -> None:
    with versioned_server() as port:
        code, said = failing(SCENARIO, f"--kubeconfig={kubeconfig_for(tmp_path, port)}")
    assert (code, "--allow-scenario" in said) == (2, True), said


def test_nothing_is_served_before_everything_is_known(tmp_path: Path) -> None:
    """Half the pods would be a cluster half as full."""
    port = free_port()
    with versioned_server() as api:
        config = kubeconfig_for(tmp_path, api)
        flags = [f"--listen=127.0.0.1:{port}", f"--kubeconfig={config}"]
        process = subprocess.Popen(
            [sys.executable, "-m", "trimtab.cli", "run", "exporter", *flags],
            stderr=subprocess.DEVNULL,
        )
        try:
            with httpx2.Client(
                base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False
            ) as http:
                wait_until(lambda: _answers(http), "it does not listen")
                assert http.get("/metrics").status_code == 503
                assert http.get("/metrics").json()["title"] == "Not ready yet"
                assert http.get("/health").json()["status"] == "starting"
                assert http.get("/readyz").status_code == 503
        finally:
            process.terminate()
            assert process.wait(LIMIT_S) == 0


def _answers(http: httpx2.Client) -> bool:
    try:
        http.get("/health")
    except httpx2.TransportError:
        return False
    return True
