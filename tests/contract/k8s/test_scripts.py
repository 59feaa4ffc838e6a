"""The two scripts and their decisions, with fake kind, kubectl, docker and podman on PATH.

No container engine is needed, and none is proven: what is checked is which commands they would
run, in which order, and what they say when something is missing.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from builders.values.manifests import REPOSITORY
from builders.waiting import LIMIT_S
from trimtab.kube.http.callers import API_SERVER as CLIENT_NAME

REAL = (
    *("bash", "cat", "sed", "grep", "dirname", "mktemp", "rm", "tr", "base64", "sleep", "head"),
    *("mkdir", "chmod"),
)
TOOLS = ("kind", "kubectl", "jq", "openssl")


class Computer:
    """A PATH of fakes that write down how they were called."""

    def __init__(self, directory: Path) -> None:
        self.home = directory
        self.bin = directory / "bin"
        self.log = directory / "calls"
        self.bin.mkdir()
        for tool in REAL:
            found = shutil.which(tool)
            assert found is not None
            (self.bin / tool).symlink_to(found)
        for tool in TOOLS:
            self.has(tool)

    def has(self, tool: str, then: str = "") -> None:
        """Install a fake that logs its arguments, then does `then`."""
        fake = self.bin / tool
        fake.unlink(missing_ok=True)
        fake.write_text(f'#!/bin/bash\necho "{tool} $*" >> {self.log}\n{then}\n')
        fake.chmod(0o755)

    def lacks(self, tool: str) -> None:
        (self.bin / tool).unlink()

    def run(self, script: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(REPOSITORY / script), *arguments],
            env={
                "PATH": str(self.bin),
                "HOME": "/nonexistent",
                "TMPDIR": str(self.bin.parent),
                "XDG_STATE_HOME": str(self.home / "state"),
                **env,
            },
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def computer(tmp_path: Path) -> Computer:
    computer = Computer(tmp_path)
    computer.has("docker")
    computer.has("podman")
    computer.has(
        "openssl", 'for a; do case $prev in -out|-keyout) echo x > "$a";; esac; prev=$a; done'
    )
    return computer


def builder(computer: Computer) -> str:
    """The program that built the image."""
    (call,) = [call for call in computer.calls() if " build " in call]
    return call.split()[0]


@pytest.mark.parametrize("tool", [*TOOLS])
def test_setup_names_the_tool_that_is_missing(computer: Computer, tool: str) -> None:
    computer.lacks(tool)
    done = computer.run("setup-kind-env.sh")
    assert done.returncode == 2
    assert f"{tool} is needed" in done.stderr
    assert computer.calls() == []


def test_docker_comes_before_podman(computer: Computer) -> None:
    done = computer.run("setup-kind-env.sh")
    assert done.returncode == 0, done.stderr
    assert builder(computer) == "docker"


@pytest.mark.parametrize(
    "docker",
    [
        pytest.param("exit 1", id="Docker is installed and does not run"),
        pytest.param("echo 'podman version 5.6'", id="docker is an alias of Podman"),
    ],
)
def test_podman_is_used_when_docker_is_not_to_be_had(computer: Computer, docker: str) -> None:
    computer.has("docker", docker)
    computer.has("kind", f'echo "provider $KIND_EXPERIMENTAL_PROVIDER" >> {computer.log}')
    assert computer.run("setup-kind-env.sh").returncode == 0
    assert builder(computer) == "podman"
    assert "provider podman" in computer.calls()


def test_the_provider_that_is_asked_for_wins(computer: Computer) -> None:
    assert computer.run("setup-kind-env.sh", KIND_EXPERIMENTAL_PROVIDER="podman").returncode == 0
    assert builder(computer) == "podman"


@pytest.mark.parametrize(
    ("provider", "says"),
    [("podman", "`podman info` does not answer"), ("nerdctl", "knows docker and podman")],
)
def test_a_provider_that_cannot_be_used_is_an_error(
    computer: Computer, provider: str, says: str
) -> None:
    computer.has("podman", "exit 1")
    done = computer.run("setup-kind-env.sh", KIND_EXPERIMENTAL_PROVIDER=provider)
    assert done.returncode == 2
    assert says in done.stderr


def test_without_any_engine_the_lab_is_recommended(computer: Computer) -> None:
    computer.has("docker", "exit 1")
    computer.lacks("podman")
    done = computer.run("setup-kind-env.sh")
    assert done.returncode == 2
    assert "make up" in done.stderr


def test_the_cluster_is_created_with_the_promised_ports(computer: Computer) -> None:
    computer.has("kind", f'[ "$1" != create ] || cat >> {computer.log}')
    assert computer.run("setup-kind-env.sh").returncode == 0
    text = "\n".join(computer.calls())
    assert "kind create cluster --name node-classifier-sim --image kindest/node:v1.36" in text
    for port in (9090, 8000, 8001, 8443):
        assert f"hostPort: {port}, listenAddress: 127.0.0.1" in text


def really_has(computer: Computer, tool: str) -> None:
    found = shutil.which(tool)
    assert found is not None
    (computer.bin / tool).unlink()
    (computer.bin / tool).symlink_to(found)


def test_the_api_server_gets_a_client_certificate_that_the_webhook_can_check(
    computer: Computer,
) -> None:
    """Made with the real openssl; what mounts, files and arguments say fits together."""
    really_has(computer, "openssl")
    config = computer.home / "kind.yaml"
    computer.has("kind", f'[ "$1" != create ] || cat > {config}')
    done = computer.run("setup-kind-env.sh")
    assert done.returncode == 0, done.stderr
    state = computer.home / "state" / "trimtab" / "kind-node-classifier-sim"
    files = {path.name: path.stat().st_mode & 0o777 for path in state.iterdir()}
    assert files == dict.fromkeys(
        ("admission.yaml", "ca.crt", "client.crt", "client.key", "webhook-credentials.yaml"), 0o600
    )
    certificate = x509.load_pem_x509_certificate((state / "client.crt").read_bytes())
    ca = x509.load_pem_x509_certificate((state / "ca.crt").read_bytes())
    certificate.verify_directly_issued_by(ca)
    assert certificate.subject.rfc4514_string() == f"CN={CLIENT_NAME}"
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    (node,) = yaml.safe_load(config.read_text())["nodes"]
    (mount,) = node["extraMounts"]
    assert (mount["hostPath"], mount["readOnly"]) == (str(state), True)
    patch = yaml.safe_load(node["kubeadmConfigPatches"][0])["apiServer"]
    (volume,) = patch["extraVolumes"]
    there = mount["containerPath"]
    assert {volume["hostPath"], volume["mountPath"]} == {there}
    assert patch["extraArgs"] == {"admission-control-config-file": f"{there}/admission.yaml"}
    (plugin,) = yaml.safe_load((state / "admission.yaml").read_text())["plugins"]
    assert plugin["configuration"]["kubeConfigFile"] == f"{there}/webhook-credentials.yaml"
    (user,) = yaml.safe_load((state / "webhook-credentials.yaml").read_text())["users"]
    assert user["user"]["client-key"] == f"{there}/client.key"


def test_the_webhook_in_kind_is_told_whom_to_believe(computer: Computer) -> None:
    really_has(computer, "jq")
    server, webhook = (
        {"items": [{"spec": {"containers": [{"command": ["--admission-control-config-file=x"]}]}}]},
        {"spec": {"template": {"spec": {"containers": [{"args": ["run", "webhook"]}]}}}},
    )
    (computer.home / "server").write_text(json.dumps(server))
    (computer.home / "webhook").write_text(json.dumps(webhook))
    answers = f"""case "$*" in
      *component=kube-apiserver*) cat {computer.home}/server ;;
      *"get deployment"*) cat {computer.home}/webhook ;;
      *"patch deployment"*) printf %s "${{!#}}" > {computer.home}/patch ;;
    esac"""
    computer.has("kubectl", answers)
    assert computer.run("setup-kind-env.sh").returncode == 0
    pod = json.loads((computer.home / "patch").read_text())["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"] == ["run", "webhook", "--client-ca=/client-ca/ca.crt"]
    assert container["volumeMounts"][0]["name"] == pod["volumes"][0]["name"]
    (computer.home / "server").write_text('{"items": []}')
    (computer.home / "patch").unlink()
    older = computer.run("setup-kind-env.sh")
    assert older.returncode == 0
    assert "the webhook believes every caller" in older.stdout
    assert not (computer.home / "patch").exists()


def test_a_cluster_that_is_there_is_not_created_again(computer: Computer) -> None:
    assert computer.run("setup-kind-env.sh").returncode == 0
    computer.log.unlink()
    computer.has("kind", '[ "$1 $2" != "get clusters" ] || echo node-classifier-sim')
    done = computer.run("setup-kind-env.sh")
    assert done.returncode == 0, done.stderr
    assert not [call for call in computer.calls() if call.startswith("kind create")]
    assert [call for call in computer.calls() if "apply" in call and "-k k8s/" in call]


def test_every_kubectl_call_names_our_cluster(computer: Computer) -> None:
    assert computer.run("setup-kind-env.sh").returncode == 0
    calls = [call for call in computer.calls() if call.startswith("kubectl")]
    assert len(calls) > 15
    assert {call for call in calls if "--context kind-node-classifier-sim" not in call} == set()


def test_kinds_exist_before_their_objects_and_every_wait_has_a_limit(computer: Computer) -> None:
    assert computer.run("setup-kind-env.sh").returncode == 0
    calls = computer.calls()
    order = ["virtualmachine-crd.yaml", "condition=Established", "-k k8s/", "example-vms.yaml"]
    places = [next(n for n, call in enumerate(calls) if mark in call) for mark in order]
    assert places == sorted(places)
    waits = [call for call in calls if " wait " in call or "rollout status" in call]
    assert len(waits) >= 8
    assert all("--timeout=" in call for call in waits)


def test_setup_prints_the_addresses(computer: Computer) -> None:
    shown = computer.run("setup-kind-env.sh").stdout
    for address in ("localhost:9090", "localhost:8000", "localhost:8443/metrics"):
        assert f"http://{address}" in shown


def test_setup_stops_at_the_first_command_that_fails(computer: Computer) -> None:
    computer.has("docker", '[ "$1" != build ]')
    done = computer.run("setup-kind-env.sh")
    assert done.returncode != 0
    assert not [call for call in computer.calls() if call.startswith("kubectl")]


@pytest.mark.parametrize("script", ["setup-kind-env.sh", "test-closed-loop.sh"])
def test_help_explains_and_does_nothing(computer: Computer, script: str) -> None:
    done = computer.run(script, "--help")
    assert done.returncode == 0
    assert script in done.stdout
    assert computer.calls() == []
    unknown = computer.run(script, "--nonsense")
    assert unknown.returncode == 2
    assert "--nonsense" in unknown.stderr


LINKS = {
    "get --raw /readyz": "the API server answers",
    "nodes": "fake nodes are Ready",
    "deployment": "eviction webhook runs",
    "validatingwebhookconfiguration": "the API server trusts the webhook",
    "vm -A": "every VM has a node",
    "logs": "the descheduler runs cycles",
    "/health$": "the exporter reads pods",
    "/metrics": "the exporter has node metrics",
    "/targets": "Prometheus scrapes the exporter",
    "/rules": "the rules are loaded and work",
    "/query": "every node has a score",
    "vmm -A": "an eviction became a migration",
}
KUBECTL = r"""
case "$*" in
  *"get nodes"*) echo '{"items":[{"status":{"conditions":[{"type":"Ready","status":"True"}]}}]}' ;;
  *"get deployment"*) echo '{"status":{"readyReplicas":1}}' ;;
  *"get validatingwebhook"*) echo '{"webhooks":[{"clientConfig":{"caBundle":"eA=="}}]}' ;;
  *"get vmm"*) echo '{"items":[{"status":{"phase":"Succeeded"}}]}' ;;
  *"get vm "*) echo '{"items":[{"status":{"nodeName":"kwok-node-1"}}]}' ;;
  *logs*) echo '"Number of evictions/requests" totalEvicted=1' ;;
esac
"""
CURL = r"""
name=descheduler:node:linear_amplified_ideal_point_positive_distance:k3:avg1m
case "$*" in
  */health) echo '{"status":"healthy","pod_manager_enabled":true}' ;;
  *8000/metrics) echo 'node_cpu_usage_ratio{node="kwok-node-1"} 0.5' ;;
  *8443/metrics) echo 'descheduler_pods_evicted_total{node="n",result="background"} 3' ;;
  */targets) echo '{"data":{"activeTargets":[{"labels":{"job":"exporter"},"health":"up"}]}}' ;;
  */rules) echo '{"data":{"groups":[{"rules":[{"name":"'$name'","health":"ok"}]}]}}' ;;
  */query) echo '{"data":{"result":[{}]}}' ;;
esac
"""


@pytest.fixture
def healthy(tmp_path: Path) -> Computer:
    jq = shutil.which("jq")
    if jq is None:
        pytest.skip("jq is not installed: test-closed-loop.sh cannot be run here")
    computer = Computer(tmp_path)
    computer.lacks("jq")
    (computer.bin / "jq").symlink_to(jq)
    computer.has("kubectl", KUBECTL)
    computer.has("curl", CURL)
    return computer


def test_a_loop_that_works_passes_every_link(healthy: Computer) -> None:
    done = healthy.run("test-closed-loop.sh", "--wait", "0")
    assert done.returncode == 0, done.stdout
    assert "FAIL" not in done.stdout
    assert "0 do not" in done.stdout


@pytest.mark.parametrize("broken", LINKS, ids=LINKS.values())
def test_a_broken_link_is_named(healthy: Computer, broken: str) -> None:
    pattern = broken.removesuffix("$")
    stop = f'case "$*" in *"{pattern}"{"" if broken.endswith("$") else "*"}) exit 1 ;; esac\n'
    healthy.has("kubectl", stop + KUBECTL)
    healthy.has("curl", stop + CURL)
    done = healthy.run("test-closed-loop.sh", "--wait", "0")
    assert done.returncode == 1
    assert f"FAIL  {LINKS[broken]}" in done.stdout
    assert "look at: " in done.stdout


@pytest.mark.parametrize(
    "script", ["setup-kind-env.sh", "test-closed-loop.sh", "k8s/make-secrets.sh"]
)
def test_shellcheck_has_nothing_to_say(script: str) -> None:
    program = REPOSITORY / ".venv/bin/shellcheck"
    found = str(program) if program.exists() else shutil.which("shellcheck")
    assert found is not None, "shellcheck is missing: make setup"
    done = subprocess.run(
        [found, str(REPOSITORY / script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert os.access(REPOSITORY / script, os.X_OK)
