"""What the stack `kubevirt` adds to a lab, alone and with the loop, on paper."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from msgspec import structs

from builders.labs.lab import a_spec
from trimtab.cli.lab.stacks.kubevirt import refuse_both_worlds
from trimtab.errors import ConfigError
from trimtab.lab.components.control_plane import PORTS as CONTROL_PLANE
from trimtab.lab.components.stack import CA_BUNDLE, CA_TEXT, Lab
from trimtab.lab.plan import Blueprint, draw
from trimtab.stacks.kubevirt import stack as kubevirt
from trimtab.stacks.kubevirt.components import PORTS as KUBEVIRT_PORTS
from trimtab.stacks.kubevirt.objects import catalogue, install_objects, recording_rules
from trimtab.stacks.kubevirt.settings import KubevirtSettings, check_cpu_model
from trimtab.stacks.loop.scenario.objects import Script
from trimtab.stacks.loop.settings import LoopSettings
from trimtab.stacks.loop.stack import OPTIONAL_PORTS, loop_stack
from trimtab.stacks.loop.stack import PORTS as LOOP_PORTS


def named(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **more}


WEBHOOK = {"name": "w", "clientConfig": {"service": {"name": "virt-api", "path": "/judge"}}}
PRINTED = [
    named("CustomResourceDefinition", "kubevirts.kubevirt.io", status={"conditions": None}),
    named("ConfigMap", "kubevirt-ca"),
    named("ValidatingWebhookConfiguration", "virt-api-validator", webhooks=[WEBHOOK]),
    named("ValidatingWebhookConfiguration", "virt-operator-validator", webhooks=[WEBHOOK]),
    named("MutatingWebhookConfiguration", "virt-launcher-pod-mutator", webhooks=[WEBHOOK]),
    named("APIService", "v1.subresources", spec={"service": {"name": "virt-api"}, "group": "g"}),
    named("Service", "virt-api", spec={"clusterIP": "None"}),
    named("Service", "virt-exportproxy", spec={}),
    named("VirtualMachineClusterInstancetype", "u1.small"),
    named("PrometheusRule", "rules", spec={"groups": [{"name": "recordingRules.rules"}]}),
]


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is not run: what it prints is given."""
    monkeypatch.setattr(kubevirt, "printed_objects", lambda _program: PRINTED)


def a_blueprint(path: Path, *stacks: str, nodes: int = 5) -> Blueprint:
    ports = CONTROL_PLANE | LOOP_PORTS | OPTIONAL_PORTS | KUBEVIRT_PORTS
    spec = structs.replace(a_spec(ports=ports), stacks=stacks, nodes=nodes)
    lab = Lab(path, spec, lambda program: Path("/engines") / program)
    known = {
        "loop": loop_stack(LoopSettings(), script=Script(name="empty"), policy="profiles: []"),
        "kubevirt": kubevirt.kubevirt_stack(KubevirtSettings()),
    }
    return draw(lab, tuple(known[name] for name in stacks), None)


def objects_of(blueprint: Blueprint) -> dict[str, dict[str, Any]]:
    things = msgspec.json.decode(blueprint.files["config/objects.json"])
    return {f"{thing['kind']}/{thing['metadata']['name']}": thing for thing in things}


@pytest.mark.usefixtures("printed")
def test_alone_it_is_kubevirt_and_the_player(tmp_path: Path) -> None:
    made = a_blueprint(tmp_path, "kubevirt")
    names = {each.name for each in made.plan.components}
    assert names >= {"virt-api", "virt-controller", "virt-handler-player"}
    assert not names & {"vm-controller", "webhook", "exporter", "descheduler"}
    accounts = {(token.namespace, token.service) for token in made.plan.tokens}
    assert ("kubevirt", "kubevirt-handler") in accounts
    assert ("trimtab-system", "virt-handler-player") in accounts


@pytest.mark.usefixtures("printed")
def test_with_the_loop_nothing_of_trimtabs_own_vms_is_installed(tmp_path: Path) -> None:
    made = a_blueprint(tmp_path, "loop", "kubevirt")
    names = {each.name for each in made.plan.components}
    assert names >= {"descheduler", "exporter", "scenario", "virt-controller"}
    assert not names & {"vm-controller", "webhook"}
    things = objects_of(made)
    assert not [name for name in things if "trimtab.dev" in name]
    assert "ValidatingWebhookConfiguration/trimtab-eviction" not in things
    assert "MutatingAdmissionPolicy/trimtab-initial-node" in things
    units = made.plan.units
    assert {"virt-api", "virt-controller"} <= set(units["descheduler"].needs)


@pytest.mark.usefixtures("printed")
@pytest.mark.parametrize(("nodes", "pace"), [(5, "5s"), (100, "10s"), (300, "90s"), (1000, "3m")])
def test_a_large_virt_controller_is_asked_less_often_and_waited_for(
    tmp_path: Path, nodes: int, pace: str
) -> None:
    made = a_blueprint(tmp_path, "loop", "kubevirt", nodes=nodes)
    config = yaml.safe_load(made.files["config/prometheus.yml"])
    (job,) = [each for each in config["scrape_configs"] if each["job_name"] == "virt-controller"]
    assert (job["scrape_interval"], job["scrape_timeout"]) == (pace, pace)
    assert job["scheme"] == "https"


@pytest.mark.usefixtures("printed")
def test_certificates_of_kubevirts_programs_have_directories_of_their_own(tmp_path: Path) -> None:
    made = a_blueprint(tmp_path, "kubevirt")
    directories = {Path(server.name).parent.name for server in made.servers}
    assert {"virt-api", "virt-controller"} <= directories


@pytest.mark.usefixtures("printed")
def test_instance_types_wait_for_the_program_that_admits_them(tmp_path: Path) -> None:
    units = a_blueprint(tmp_path, "kubevirt").plan.units
    assert "virt-api" in units["kubevirt-catalogue"].needs
    assert {"kubevirt-status"} <= set(units["virt-api"].needs)


def test_webhooks_are_called_by_url_and_those_of_nobody_are_left_out() -> None:
    things = {thing["metadata"]["name"]: thing for thing in install_objects(PRINTED, 8448)}
    (webhook,) = things["virt-api-validator"]["webhooks"]
    assert webhook["clientConfig"] == {
        "url": "https://127.0.0.1:8448/judge",
        "caBundle": CA_BUNDLE,
    }
    assert not things.keys() & {"virt-operator-validator", "virt-launcher-pod-mutator"}
    assert things["kubevirt-ca"]["data"] == {"ca-bundle": CA_TEXT}


def test_sub_resources_lead_to_this_computer() -> None:
    things = {thing["metadata"]["name"]: thing for thing in install_objects(PRINTED, 8448)}
    assert things["virt-api"]["spec"] == {"type": "ExternalName", "externalName": "localhost"}
    assert things["v1.subresources"]["spec"]["service"]["port"] == 8448
    assert "virt-exportproxy" not in things


def test_what_a_server_writes_is_not_sent() -> None:
    assert all("status" not in thing for thing in install_objects(PRINTED, 8448))


def test_the_catalogue_and_the_rules_are_kubevirts() -> None:
    assert [thing["metadata"]["name"] for thing in catalogue(PRINTED)] == ["u1.small"]
    assert recording_rules(PRINTED) == [{"name": "recordingRules.rules"}]


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        pytest.param(("none",), ("kubevirt",), False, id="a lab without VMs gets KubeVirt's"),
        pytest.param(("none",), ("loop",), False, id="a lab without VMs gets trimtab's"),
        pytest.param(("kubevirt",), ("loop", "kubevirt"), False, id="the loop comes to KubeVirt"),
        pytest.param(("loop",), ("loop", "qos"), False, id="another stack comes"),
        pytest.param(("loop",), ("loop", "kubevirt"), True, id="KubeVirt comes to trimtab's VMs"),
        pytest.param(("loop", "kubevirt"), ("loop",), True, id="KubeVirt is left out"),
        pytest.param(("kubevirt",), ("loop",), True, id="trimtab's VMs come to KubeVirt"),
        pytest.param(("loop",), ("kubevirt",), True, id="one is replaced by the other"),
    ],
)
def test_a_lab_never_has_both_kinds_of_vms(
    before: tuple[str, ...], after: tuple[str, ...], refused: bool
) -> None:
    old = structs.replace(a_spec(), stacks=before)
    if not refused:
        refuse_both_worlds(old, after)
        return
    with pytest.raises(ConfigError, match="a cluster cannot have both kinds"):
        refuse_both_worlds(old, after)


@pytest.mark.parametrize("text", ["Skylake", "Arm:Neoverse", "Intel:", "Intel:a b", ":x"])
def test_a_cpu_model_that_kubevirt_could_not_label_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="Intel:Skylake-Server"):
        check_cpu_model(text)
