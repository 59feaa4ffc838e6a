"""The programs with the options, files and accounts that k8s/ gives them, outside of any pod.

The base is applied to a real API server without controllers, so its Deployments stay paper.
Each program is then started by hand, under the name of its service account: if a right is bound
to the wrong account, it does not become ready.
"""

import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from builders.labs.kubectl import kubectl
from builders.labs.reads import Reader
from builders.values.manifests import K8S, containers, documents, one
from builders.waiting import LIMIT_S, wait_until
from conformance.apiserver import ApiServer, free_port
from trimtab.engines import locate
from trimtab.scores.prometheus.files import KEY as RULES_KEY

pytestmark = pytest.mark.engines
START_S = 60.0


@pytest.fixture(scope="module")
def server(server: ApiServer) -> ApiServer:
    """The one of this folder, with the base."""
    kubectl(server, "apply", "--server-side", "-k", str(K8S))
    return server


@pytest.fixture(scope="module")
def reader(server: ApiServer) -> Iterator[Reader]:
    with closing(Reader(lambda: (server.url, server.tls()))) as reader:
        yield reader


@pytest.mark.parametrize(
    ("program", "container"),
    [("descheduler", "descheduler"), ("prometheus", "prometheus"), ("kwok", "kwok")],
)
def test_a_program_knows_all_its_options(program: str, container: str) -> None:
    (arguments,) = [each["args"] for _, each in containers() if each["name"] == container]
    known = output(str(locate(program)), "--help")
    names = [re.escape(argument.split("=")[0].removeprefix("--")) for argument in arguments]
    missing = [name for name in names if not re.search(rf"--(\[no-\])?{name}\b", known)]
    assert [name for name in missing if name != "v"] == []


def test_prometheus_takes_its_configuration_and_rules(tmp_path: Path) -> None:
    rules = one("ConfigMap", "trimtab-rules")["data"][RULES_KEY]
    (tmp_path / "trimtab.rules.yaml").write_text(rules)
    text = one("ConfigMap", "prometheus-config")["data"]["prometheus.yml"]
    config = yaml.safe_load(text.replace("/etc/prometheus/rules/", f"{tmp_path}/"))
    for job in config["scrape_configs"]:
        # our build has no service discovery; the image of the project has it
        for found in job.pop("dns_sd_configs", []):
            assert found.keys() == {"names", "type", "port"}
            job["static_configs"] = [{"targets": [f"{n}:{found['port']}" for n in found["names"]]}]
    file = tmp_path / "prometheus.yml"
    file.write_text(yaml.safe_dump(config))
    said = output(str(locate("promtool")), "check", "config", str(file))
    assert "rules found" in said


def test_kwok_makes_the_fake_nodes_ready_and_leaves_others_alone(
    server: ApiServer, reader: Reader, tmp_path: Path
) -> None:
    text = one("ConfigMap", "kwok-config")["data"]["kwok.yaml"]
    (tmp_path / "kwok.yaml").write_text(text)
    real = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "real"}}
    kubectl(server, "apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(real))
    account = server.kubeconfig_for(server.url, "system:serviceaccount:kube-system:kwok-controller")
    options = (f"--config={tmp_path}/kwok.yaml", f"--server-address=127.0.0.1:{free_port()}")
    with running(str(locate("kwok")), f"--kubeconfig={account}", *options, log=tmp_path / "log"):
        fakes = [each["metadata"]["name"] for each in documents("kwok-nodes.yaml")]
        wait_until(lambda: ready_nodes(reader) == fakes, "the fake nodes are not Ready", START_S)
    assert node_cores(reader) == ["32"] * 5
    kubectl(server, "apply", "--server-side", "-f", str(K8S / "kwok-nodes.yaml"))
    assert node_cores(reader) == ["32"] * 5


@pytest.mark.parametrize(
    ("service", "namespace"),
    [("vm-controller", "default"), ("webhook", "default"), ("exporter", "monitoring")],
)
def test_a_service_becomes_ready_under_its_account(
    server: ApiServer, tmp_path: Path, service: str, namespace: str
) -> None:
    account = f"system:serviceaccount:{namespace}:{service}"
    kubeconfig = server.kubeconfig_for(server.url, account)
    port = free_port()
    (arguments,) = [c["args"] for _, c in containers() if c.get("args", [])[:2] == ["run", service]]
    here = [argument_here(each, port, tmp_path) for each in arguments]
    command = (sys.executable, "-m", "trimtab.cli", *here, f"--kubeconfig={kubeconfig}")
    scheme = "https" if service == "webhook" else "http"
    with running(*command, log=tmp_path / "log") as process:
        wait_until(
            lambda: answers(f"{scheme}://127.0.0.1:{port}/readyz") or process.poll() is not None,
            f"{service} is not ready",
            START_S,
        )
        assert process.poll() is None, (tmp_path / "log").read_text()[-2000:]


def test_only_the_controller_under_its_cluster_name_may_delete_a_guarded_pod(
    server: ApiServer,
) -> None:
    labels = {"trimtab.dev/guard": "true", "vm.kubevirt.io/name": "vm-1"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "virt-launcher-vm-1-aaaaa", "namespace": "default", "labels": labels},
        "spec": {"containers": [{"name": "compute", "image": "none"}]},
    }
    kubectl(server, "apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(pod))
    delete = ("delete", "pod", "-n", "default", "virt-launcher-vm-1-aaaaa", "--grace-period=0")
    wait_until(lambda: guarded(server, *delete), "the guard does not act", START_S)
    account = "system:serviceaccount:default:vm-controller"
    kubectl(server, *delete, user=server.kubeconfig_for(server.url, account))


def argument_here(argument: str, port: int, directory: Path) -> str:
    """A pod's option with this computer's address and files in it."""
    name, _, value = argument.partition("=")
    match name:
        case "--listen":
            return f"--listen=127.0.0.1:{port}"
        case "--host":
            return "--host=127.0.0.1"
        case "--port":
            return f"--port={port}"
        case "--certificate":
            leaf = trustme.CA().issue_cert("localhost")
            leaf.cert_chain_pems[0].write_to_path(str(directory / "tls.crt"))
            leaf.private_key_pem.write_to_path(str(directory / "tls.key"))
            return f"{name}={directory / 'tls.crt'}"
        case "--key":
            return f"{name}={directory / 'tls.key'}"
        case "--token-file":
            (directory / "token").write_text("secret")
            return f"{name}={directory / 'token'}"
        case _:
            assert not value, f"{argument}: this test does not know what to put there"
            return argument


def guarded(server: ApiServer, *delete: str) -> bool:
    """Whether a dry run of the deletion is refused; policies take effect a moment after."""
    try:
        kubectl(server, *delete, "--dry-run=server")
    except AssertionError as refusal:
        return "trimtab vm migrate vm-1" in str(refusal)
    return False


def ready_nodes(reader: Reader) -> list[str]:
    nodes = reader.get("nodes")["items"]
    return [node["metadata"]["name"] for node in nodes if is_ready(node)]


def is_ready(node: dict[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions", ())
    return [each["status"] for each in conditions if each["type"] == "Ready"] == ["True"]


def node_cores(reader: Reader) -> list[str]:
    nodes = reader.get("nodes", "-l", "type=kwok")["items"]
    return [node["status"]["allocatable"]["cpu"] for node in nodes]


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2, context=ssl._create_unverified_context()):
            return True
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def running(*command: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=log.parent)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(LIMIT_S)


def output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr
