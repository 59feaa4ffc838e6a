"""What k8s/ says is what the code says: rights, policy, admission, nodes, versions, options."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.values.manifests import REPOSITORY, base, containers, documents, of_kind, one
from trimtab import __version__
from trimtab.cli.main import app
from trimtab.install.loop.manifests import generate
from trimtab.install.loop.rbac import descheduler_rbac
from trimtab.install.rights import granted
from trimtab.install.services import exporter, vm_controller, webhook
from trimtab.install.vm.crd import crds
from trimtab.install.vm.eviction_webhook import eviction_webhook
from trimtab.install.vm.launcher_pods_only import launcher_pods_only
from trimtab.install.vm.pod_deletion_guard import guard
from trimtab.lab.components.kwok import rbac as kwok_rbac
from trimtab.lab.components.kwok import stages
from trimtab.lab.components.objects import node
from trimtab.lab.spec import NodeSize
from trimtab.policy.file.reader import read_policy
from trimtab.scores.prometheus.files import KEY as RULES_KEY

LAB_RBAC = {
    "vm-controller": granted("vm-controller", vm_controller.SERVICE.roles()),
    "webhook": granted("webhook", webhook.SERVICE.roles()),
    "exporter": granted("exporter", exporter.SERVICE.roles()),
    "descheduler": descheduler_rbac(),
    "kwok": kwok_rbac(),
}


def test_generated_files_are_what_their_generator_writes() -> None:
    for path, text in generate().items():
        assert (REPOSITORY / path).read_text() == text, f"{path}: run make generate"


@pytest.mark.parametrize("service", LAB_RBAC)
def test_roles_are_those_that_the_lab_proves_by_use(service: str) -> None:
    shipped = documents("rbac.yaml")
    for manifest in LAB_RBAC[service]:
        if "rules" in manifest:
            assert manifest in shipped
        else:
            same = [each for each in shipped if _but_subjects(each) == _but_subjects(manifest)]
            assert len(same) == 1


def test_every_pod_runs_under_an_account_that_has_its_rights() -> None:
    bound = {
        (subject["namespace"], subject["name"])
        for binding in of_kind("ClusterRoleBinding")
        for subject in binding["subjects"]
    }
    for deployment in of_kind("Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        account = (deployment["metadata"]["namespace"], pod.get("serviceAccountName"))
        assert account in bound or pod["automountServiceAccountToken"] is False
    accounts = {
        (a["metadata"]["namespace"], a["metadata"]["name"]) for a in of_kind("ServiceAccount")
    }
    assert bound <= accounts


def test_the_controller_may_delete_guarded_pods_under_its_name_in_the_cluster() -> None:
    shipped = documents("guard.yaml")
    here, in_labs = (
        f"system:serviceaccount:{n}:vm-controller" for n in ("default", "trimtab-system")
    )
    text = repr(shipped)
    assert here in text
    assert in_labs not in text
    assert text.replace(here, in_labs) == repr([*guard(), *launcher_pods_only()])


def test_the_webhook_is_registered_as_in_the_lab() -> None:
    service = {"namespace": "default", "name": "eviction-webhook", "path": "/pod-eviction-validate"}
    shipped = one("ValidatingWebhookConfiguration", "trimtab-eviction")
    assert shipped == eviction_webhook({"service": service})


def test_the_definitions_are_those_of_the_code() -> None:
    assert documents("virtualmachine-crd.yaml") == crds()


def test_the_policy_is_the_default_one() -> None:
    text = one("ConfigMap", "descheduler-policy")["data"]["policy.yaml"]
    assert text == (REPOSITORY / "examples/policies/default.yaml").read_text()
    read_policy(text, "descheduler-policy.yaml")


def test_the_policy_names_a_prometheus_and_a_secret_that_are_there() -> None:
    policy = yaml.safe_load(one("ConfigMap", "descheduler-policy")["data"]["policy.yaml"])
    (provider,) = policy["metricsProviders"]
    assert provider["prometheus"]["url"] == "http://prometheus.monitoring.svc:9090"
    assert one("Service", "prometheus")["metadata"]["namespace"] == "monitoring"
    secret = provider["prometheus"]["authToken"]["secretReference"]
    assert one("Secret", secret["name"])["metadata"]["namespace"] == secret["namespace"]


def test_there_are_five_nodes_like_a_labs_with_the_taint_of_a_fake_node() -> None:
    nodes = documents("kwok-nodes.yaml")
    assert [each["metadata"]["name"] for each in nodes] == [f"kwok-node-{n}" for n in range(1, 6)]
    for number, shipped in enumerate(nodes, 1):
        ours = node(number, NodeSize())
        assert shipped["metadata"] == ours["metadata"]
        for amounts in ("capacity", "allocatable"):
            assert shipped["status"][amounts] == ours["status"][amounts]
        (taint,) = shipped["spec"]["taints"]
        assert taint == {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}


def test_kwok_plays_the_labs_stages_and_no_real_node() -> None:
    text = one("ConfigMap", "kwok-config")["data"]["kwok.yaml"]
    head, *shipped = yaml.safe_load_all(text)
    assert shipped == stages()
    assert "manageAllNodes" not in head["options"]
    selector = head["options"]["manageNodesWithAnnotationSelector"].split("=")
    assert documents("kwok-nodes.yaml")[0]["metadata"]["annotations"][selector[0]] == selector[1]


@pytest.mark.parametrize(
    ("deployment", "image", "module", "pinned_in"),
    [
        ("descheduler", "descheduler:v{}", "sigs.k8s.io/descheduler", "kubernetes"),
        ("kwok-controller", "kwok:v{}", "sigs.k8s.io/kwok", "kubernetes"),
    ],
)
def test_images_are_the_engines_versions(
    deployment: str, image: str, module: str, pinned_in: str
) -> None:
    images = [each["image"] for name, each in containers() if name == deployment]
    wanted = image.format(_pin(pinned_in, module))
    assert any(each.endswith("/" + wanted) for each in images)


def test_prometheus_is_the_engines_version() -> None:
    # Prometheus 3.12.0 is the Go module v0.312.0
    _, minor, patch = _pin("prometheus", "github.com/prometheus/prometheus").split(".")
    version = f"{int(minor) // 100}.{int(minor) % 100}.{patch}"
    images = {each["image"] for name, each in containers() if name == "prometheus"}
    assert images == {f"docker.io/prom/prometheus:v{version}"}


def test_kind_runs_the_engines_minor_version_of_kubernetes() -> None:
    script = (REPOSITORY / "setup-kind-env.sh").read_text()
    found = re.search(r"KIND_NODE_IMAGE:-kindest/node:v(\d+\.\d+)\.\d+}", script)
    assert found is not None
    assert found[1] == ".".join(_pin("kubernetes", "k8s.io/kubernetes").split(".")[:2])


def test_our_image_has_our_version_everywhere() -> None:
    ours = {each["image"] for _, each in containers() if "trimtab" in each["image"]}
    assert ours == {f"localhost/trimtab:{__version__}"}
    script = (REPOSITORY / "setup-kind-env.sh").read_text()
    assert f"readonly IMAGE=localhost/trimtab:{__version__}\n" in script


@pytest.mark.parametrize("service", ["vm-controller", "webhook", "exporter"])
def test_our_containers_are_started_with_options_that_exist(service: str) -> None:
    (arguments,) = [c["args"] for _, c in containers() if c.get("args", [])[:2] == ["run", service]]
    _, bound, _ = app.parse_args(arguments, exit_on_error=False, print_error=False)
    assert bound.kwargs


def test_pods_carry_the_labels_that_people_look_for() -> None:
    labels = {
        (each["metadata"]["namespace"], each["spec"]["template"]["metadata"]["labels"]["app"])
        for each in of_kind("Deployment")
    }
    assert labels >= {
        ("default", "eviction-webhook"),
        ("default", "vm-controller"),
        ("monitoring", "metrics-exporter"),
    }


def test_every_service_leads_to_a_port_of_a_pod() -> None:
    services = [*of_kind("Service"), *documents("overlays/kind/node-ports.yaml")]
    pods = {
        (each["metadata"]["namespace"], each["metadata"]["name"]): each["spec"]["template"]
        for each in of_kind("Deployment")
    }
    for service in services:
        metadata, spec = service["metadata"], service["spec"]
        pod = pods[metadata["namespace"], spec["selector"]["app"]]
        ports = {port["name"] for c in pod["spec"]["containers"] for port in c.get("ports", [])}
        assert {port["targetPort"] for port in spec["ports"]} <= ports


def test_prometheus_scrapes_services_that_are_there_and_keeps_the_exporters_labels() -> None:
    config = yaml.safe_load(one("ConfigMap", "prometheus-config")["data"]["prometheus.yml"])
    jobs = {job["job_name"]: job for job in config["scrape_configs"]}
    assert jobs["exporter"]["honor_labels"] is True
    served = {
        (f"{s['metadata']['name']}.{s['metadata']['namespace']}.svc", port["port"])
        for s in of_kind("Service")
        for port in s["spec"]["ports"]
    }
    assert set(_targets(jobs)) <= served
    mounted = {
        volume["configMap"]["name"]
        for volume in one("Deployment", "prometheus")["spec"]["template"]["spec"]["volumes"]
        if "configMap" in volume
    }
    assert {name for name in mounted if RULES_KEY in one("ConfigMap", name)["data"]}


def test_node_ports_are_those_that_kind_maps() -> None:
    script = (REPOSITORY / "setup-kind-env.sh").read_text()
    mapped = dict(re.findall(r"containerPort: (\d+), hostPort: (8000|9090|8443)", script))
    ports = {
        str(port["nodePort"]): str(port["port"])
        for service in documents("overlays/kind/node-ports.yaml")
        for port in service["spec"]["ports"]
    }
    assert ports == mapped


def test_example_vms_start_with_one_hot_node() -> None:
    used: dict[str, float] = {}
    for vm in documents("example-vms.yaml"):
        where = vm["metadata"]["annotations"]["trimtab.dev/initial-node"]
        spec = vm["spec"]
        used[where] = used.get(where, 0.0) + spec["resources"]["cpu"] * spec["utilization"]["cpu"]
    assert set(used) == {each["metadata"]["name"] for each in documents("kwok-nodes.yaml")}
    hot = used.pop("kwok-node-1")
    assert 28 < hot < 32
    assert max(used.values()) < 5


def test_no_name_is_given_twice() -> None:
    names = [
        (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
        for each in base()
    ]
    assert len(names) == len(set(names))


def _but_subjects(manifest: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in manifest.items() if key != "subjects"}


def _pin(module: str, dependency: str) -> str:
    text = (REPOSITORY / "engines" / module / "go.mod").read_text()
    found = re.search(rf"^\s*{re.escape(dependency)} v(\S+)", text, re.MULTILINE)
    assert found is not None
    return found[1]


def _targets(jobs: dict[str, Any]) -> list[tuple[str, int]]:
    pairs = []
    for job in jobs.values():
        for config in job.get("static_configs", []):
            pairs += [tuple(target.split(":")) for target in config["targets"]]
        for config in job.get("dns_sd_configs", []):
            pairs += [(n.removesuffix(".cluster.local"), config["port"]) for n in config["names"]]
    return [(host, int(port)) for host, port in pairs if host != "localhost"]


def test_the_image_is_made_of_files_that_are_there_and_runs_without_root() -> None:
    lines = (REPOSITORY / "Containerfile").read_text().splitlines()
    copied = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    assert copied
    assert all((REPOSITORY / path).exists() for path in copied)
    (user,) = [line.split()[1] for line in lines if line.startswith("USER ")]
    accounts = {
        str(each["spec"]["template"]["spec"]["securityContext"]["runAsUser"])
        for each in of_kind("Deployment")
        if "trimtab" in each["spec"]["template"]["spec"]["containers"][0]["image"]
    }
    assert accounts == {user.split(":")[0]}
    assert "--require-hashes" in "\n".join(lines)


IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc")


def test_the_image_has_everything_that_its_wheel_needs(tmp_path: Path) -> None:
    """The recipe's wheel step with exactly the copied files, and the wheel used without a clone."""
    lines = (REPOSITORY / "Containerfile").read_text().splitlines()
    source = tmp_path / "src"
    source.mkdir()
    for path in [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]:
        if (REPOSITORY / path).is_dir():
            shutil.copytree(REPOSITORY / path, source / path, ignore=IGNORED)
        else:
            shutil.copy(REPOSITORY / path, source / path)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    built = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    shutil.unpack_archive(wheel, installed, "zip")
    done = subprocess.run(
        [sys.executable, "-m", "trimtab.cli", "sim", "one-hot-node", "--duration", "5m", "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"]
