"""What the stack adds to a lab, on paper."""

from pathlib import Path

import msgspec
import pytest
import yaml
from msgspec import structs

from builders.labs.lab import a_spec
from trimtab.errors import ConfigError
from trimtab.lab.components.component import Component
from trimtab.lab.components.control_plane import PORTS as CONTROL_PLANE
from trimtab.lab.components.stack import CA_BUNDLE, Lab
from trimtab.lab.plan import Blueprint, draw
from trimtab.lab.spec import LabClock
from trimtab.stacks.loop.scenario.objects import Script
from trimtab.stacks.loop.settings import PAGE_TOKEN_FILE, LoopSettings
from trimtab.stacks.loop.stack import OPTIONAL_PORTS, PORTS, loop_stack


def a_blueprint(path: Path, settings: LoopSettings | None = None, *, scale: int = 1) -> Blueprint:
    ports = CONTROL_PLANE | PORTS | OPTIONAL_PORTS
    spec = structs.replace(a_spec(ports=ports), clock=LabClock(0.0, scale))
    lab = Lab(path, spec, lambda program: Path("/engines") / program)
    stack = loop_stack(
        settings or LoopSettings(), script=Script(name="empty"), policy="profiles: []"
    )
    return draw(lab, (stack,), None)


def components(blueprint: Blueprint) -> dict[str, Component]:
    return {component.name: component for component in blueprint.plan.components}


def test_the_whole_loop_is_there_and_can_be_started(tmp_path: Path) -> None:
    names = set(components(a_blueprint(tmp_path)))
    assert names >= {
        *("etcd", "kube-apiserver", "kube-scheduler", "kwok"),
        *("vm-controller", "webhook", "exporter", "projector", "scenario"),
        *("prometheus", "descheduler", "page"),
    }
    assert "soft-tainter" not in names


def test_the_page_has_its_own_account_with_the_right_to_read_and_a_token_of_this_lab(
    tmp_path: Path,
) -> None:
    blueprint = a_blueprint(tmp_path)
    page = components(blueprint)["page"]
    assert page.url == "http://127.0.0.1:8080"
    assert "--kubeconfig=pki/page.kubeconfig" in page.argv
    assert "--token-file=pki/page-looking.token" in page.argv
    token = blueprint.files[PAGE_TOKEN_FILE]
    assert PAGE_TOKEN_FILE not in {each.file for each in blueprint.plan.tokens}
    assert len(token) >= 24
    assert token not in msgspec.json.encode(blueprint.plan).decode()
    objects = msgspec.json.decode(blueprint.files["config/objects.json"])
    mine = [o for o in objects if o["metadata"]["name"].startswith("trimtab:page")]
    verbs = {verb for o in mine for rule in o.get("rules", ()) for verb in rule["verbs"]}
    assert verbs == {"get", "list"}


def test_a_lab_without_its_page_runs_nothing_for_it(tmp_path: Path) -> None:
    blueprint = a_blueprint(tmp_path, LoopSettings(page=False))
    assert "page" not in components(blueprint)
    assert "trimtab:page" not in blueprint.files["config/objects.json"]


@pytest.mark.parametrize(("scale", "interval"), [(1, "1m"), (10, "6s"), (15, "4s")])
def test_the_descheduler_runs_at_the_labs_pace(tmp_path: Path, scale: int, interval: str) -> None:
    argv = components(a_blueprint(tmp_path, scale=scale))["descheduler"].argv
    assert f"--descheduling-interval={interval}" in argv
    assert "--feature-gates=EvictionsInBackground=true" in argv
    assert "--v=4" in argv


def test_prometheus_scrapes_the_exporter_at_the_labs_pace_and_keeps_its_labels(
    tmp_path: Path,
) -> None:
    config = yaml.safe_load(a_blueprint(tmp_path, scale=10).files["config/prometheus.yml"])
    jobs = {job["job_name"]: job for job in config["scrape_configs"]}
    assert jobs["exporter"]["scrape_interval"] == "1500ms"
    assert jobs["exporter"]["honor_labels"] is True
    assert config["global"]["evaluation_interval"] == "1500ms"
    assert set(jobs) == {
        *("exporter", "vm-controller", "projector", "scenario"),
        *("prometheus", "webhook", "descheduler"),
    }


def test_the_scenarios_migrations_are_the_controllers(tmp_path: Path) -> None:
    settings = LoopSettings(migration="recreate", bandwidth=5e8, parallel=7, parallel_per_node=3)
    argv = components(a_blueprint(tmp_path, settings))["vm-controller"].argv
    for option in (
        "migration=recreate",
        "bandwidth=500M",
        "parallel=7",
        "parallel-per-node=3",
    ):
        assert f"--{option}" in argv


def test_soft_taints_bring_their_service_and_its_limits(tmp_path: Path) -> None:
    blueprint = a_blueprint(tmp_path, LoopSettings(soft_taints=True), scale=10)
    assert "--interval=6s" in components(blueprint)["soft-tainter"].argv
    objects = msgspec.json.decode(blueprint.files["config/objects.json"])
    policies = [o for o in objects if o["kind"] == "ValidatingAdmissionPolicy"]
    assert "trimtab-soft-tainter" in {policy["metadata"]["name"] for policy in policies}


def test_roles_hold_no_wildcard(tmp_path: Path) -> None:
    objects = msgspec.json.decode(a_blueprint(tmp_path).files["config/objects.json"])
    rules = [rule for o in objects if o["kind"] in ("Role", "ClusterRole") for rule in o["rules"]]
    assert rules
    assert not any("*" in rule[part] for rule in rules for part in ("resources", "verbs"))


def test_an_interval_below_a_second_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--interval 5s at scale 10 .* use 10s or more"):
        a_blueprint(tmp_path, LoopSettings(interval_s=5.0), scale=10)


def test_a_lab_without_new_wishes_keeps_its_files_and_its_processes(tmp_path: Path) -> None:
    spec = a_spec(ports=CONTROL_PLANE | PORTS | OPTIONAL_PORTS)
    lab = Lab(tmp_path, spec, lambda program: Path("/engines") / program)
    first = loop_stack(LoopSettings(), script=Script(name="x"), policy="p").contribute(lab)
    for name, text in first.files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    again = loop_stack(LoopSettings()).contribute(lab)
    assert again.components == first.components
    later = msgspec.json.encode(Script(name="x", run=3))
    (tmp_path / "config/scenario.json").write_bytes(later)
    same = loop_stack(LoopSettings(), script=Script(name="x")).contribute(lab)
    assert "config/scenario.json" not in same.files
    fresh = loop_stack(LoopSettings(), script=Script(name="y")).contribute(lab)
    assert "config/scenario.json" in fresh.files


def test_a_stack_describes_and_writes_nothing(tmp_path: Path) -> None:
    blueprint = a_blueprint(tmp_path / "lab")
    assert CA_BUNDLE in blueprint.files["config/objects.json"]
    assert blueprint.links == {"static": Path("/engines/prometheus-ui")}
    assert list(tmp_path.iterdir()) == []


def test_another_policy_restarts_the_projector_alone(tmp_path: Path) -> None:
    spec = a_spec(ports=CONTROL_PLANE | PORTS | OPTIONAL_PORTS)
    lab = Lab(tmp_path, spec, Path("/engines").joinpath)
    first = loop_stack(LoopSettings(), policy="one").contribute(lab)
    other = loop_stack(LoopSettings(), policy="another").contribute(lab)
    changed = {a.name for a, b in zip(other.components, first.components, strict=True) if a != b}
    assert changed == {"projector"}
