"""k8s/qos: what a cluster is given is what the code says, and the API server takes it."""

from typing import Any

import pytest
import yaml

from builders.labs.kubectl import kubectl
from builders.values.manifests import K8S, REPOSITORY, documents
from conformance.apiserver import ApiServer
from trimtab import __version__
from trimtab.cli.main import app
from trimtab.engines import PROGRAMS
from trimtab.install.qos.host_manifests import CONFIG, generate
from trimtab.install.qos.scheduler import BACKOFF, in_a_cluster
from trimtab.kube.client import Client

SEED_PLUGINS = """
queueSort: {enabled: [{name: QosAware}], disabled: [{name: "*"}]}
preBind: {enabled: [{name: QosAware}]}
postBind: {enabled: [{name: QosAware}]}
"""


def containers(file: str) -> dict[str, Any]:
    (pod,) = documents(file)
    return {each["name"]: each for each in pod["spec"]["containers"]}


def test_generated_files_are_what_their_generator_writes() -> None:
    for path, text in generate().items():
        assert (REPOSITORY / path).read_text() == text, f"{path}: run make generate"


def test_the_profile_has_the_three_extension_points_that_were_asked_for() -> None:
    (profile,) = yaml.safe_load(in_a_cluster("qos"))["profiles"]
    wanted = yaml.safe_load(SEED_PLUGINS)
    assert {point: profile["plugins"][point] for point in wanted} == wanted


def test_the_scheduler_reads_its_configuration_from_the_known_place() -> None:
    scheduler = containers("qos/kube-scheduler.yaml")["kube-scheduler"]
    assert CONFIG == "/etc/kubernetes/scheduler-config.conf"
    assert f"--config={CONFIG}" in scheduler["command"]
    assert any(mount["mountPath"] == CONFIG for mount in scheduler["volumeMounts"])


def test_kubectl_exec_means_the_container_that_has_curl_and_the_page_is_its_neighbour() -> None:
    (pod,) = documents("qos/kube-scheduler.yaml")
    first, second = pod["spec"]["containers"]
    assert (first["name"], second["name"]) == ("kube-scheduler", "qos")
    assert first["image"] == f"localhost/trimtab-scheduler:{__version__}"
    assert pod["spec"]["hostNetwork"] is True  # one localhost for both
    assert "--port=10000" in second["args"]
    recipe = (K8S / "qos" / "Containerfile").read_text()
    assert "curl" in recipe.split("FROM")[-1]


@pytest.mark.parametrize("variant", ["", "measure-only/"])
def test_the_pages_options_are_those_of_the_command(variant: str) -> None:
    args = containers(f"qos/{variant}kube-scheduler.yaml")["qos"]["args"]
    command, bound, _ = app.parse_args(args, exit_on_error=False, print_error=False)
    assert command.__name__ == "qos"
    assert bound.arguments.get("measure_only", False) is (variant != "")


def test_measuring_only_differs_in_the_queue_and_in_nothing_else() -> None:
    ours, stock = (yaml.safe_load(in_a_cluster(order)) for order in ("qos", "stock"))
    for point in ("queueSort", "preFilter"):
        del ours["profiles"][0]["plugins"][point]
    for value in BACKOFF:
        del ours[value]
    assert ours == stock


def test_the_image_is_linked_as_the_engine_is() -> None:
    recipe = " ".join((K8S / "qos" / "Containerfile").read_text().replace("\\\n", " ").split())
    assert " ".join(PROGRAMS["kube-scheduler"].ldflags) in recipe


def test_static_pods_take_nothing_from_the_api() -> None:
    for variant in ("", "measure-only/"):
        (pod,) = documents(f"qos/{variant}kube-scheduler.yaml")
        assert all(set(volume) == {"name", "hostPath"} for volume in pod["spec"]["volumes"])
        assert "serviceAccountName" not in pod["spec"]


async def test_the_api_server_takes_all_of_it(apiserver: ApiServer, client: Client) -> None:
    how = ("apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
    said = kubectl(apiserver, *how, "-k", str(K8S / "qos")).splitlines()
    built = list(yaml.safe_load_all(kubectl(apiserver, "kustomize", str(K8S / "qos"))))
    assert len(said) == len(built) >= 14


@pytest.mark.parametrize("variant", ["", "measure-only/"])
async def test_the_api_server_takes_the_static_pods_fields(
    apiserver: ApiServer, client: Client, variant: str
) -> None:
    file = str(K8S / "qos" / variant / "kube-scheduler.yaml")
    assert kubectl(apiserver, "apply", "--dry-run=server", "--validate=strict", "-f", file)
