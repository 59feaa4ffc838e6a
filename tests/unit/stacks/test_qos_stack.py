"""The stack `qos` on paper: the scheduler's configuration, the service, and who may be asked."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from builders.labs.lab import a_spec
from trimtab.benchmarks.queue.labs import side_stack
from trimtab.cli.lab.stacks.qos import stack_of
from trimtab.errors import ConfigError
from trimtab.install.qos.scheduler import BACKOFF, in_a_cluster, with_plugin
from trimtab.lab.components.component import Component
from trimtab.lab.components.control_plane import PORTS as CONTROL_PLANE
from trimtab.lab.components.scheduler import CONFIG_FILE, parse_config
from trimtab.lab.components.stack import Lab
from trimtab.lab.files.layout import Home
from trimtab.lab.plan import Blueprint, draw
from trimtab.stacks.loop.scenario.objects import Script
from trimtab.stacks.loop.settings import LoopSettings
from trimtab.stacks.loop.stack import OPTIONAL_PORTS, loop_stack
from trimtab.stacks.loop.stack import PORTS as LOOP_PORTS
from trimtab.stacks.qos.stack import PORTS, QosStackSettings, from_lab, qos_stack

ONLY_OURS = {"enabled": [{"name": "QosAware"}], "disabled": [{"name": "*"}]}


def a_lab(path: Path, **changes: Any) -> Lab:
    ports = CONTROL_PLANE | LOOP_PORTS | OPTIONAL_PORTS | PORTS | changes.pop("moved", {})
    spec = a_spec(ports=ports, **changes)
    return Lab(path, spec, lambda program: Path("/engines") / program)


def a_blueprint(path: Path, settings: QosStackSettings | None = None, **changes: Any) -> Blueprint:
    return draw(a_lab(path, **changes), (qos_stack(settings or QosStackSettings()),), None)


def components(blueprint: Blueprint) -> dict[str, Component]:
    return {component.name: component for component in blueprint.plan.components}


def profile(blueprint: Blueprint) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(blueprint.files[CONFIG_FILE])["profiles"][0]
    return found


def test_the_profile_is_the_seeds_and_hears_of_failed_bindings_too(tmp_path: Path) -> None:
    plugins = profile(a_blueprint(tmp_path))["plugins"]
    assert plugins["queueSort"] == ONLY_OURS
    for point in ("preBind", "postBind", "reserve"):
        assert plugins[point] == {"enabled": [{"name": "QosAware"}]}
    assert "score" in plugins  # what the lab had before is still there


def test_the_lab_and_the_experiment_run_what_is_shipped(tmp_path: Path) -> None:
    """The same extension points and the same back-off, also where time is compressed."""
    shipped = yaml.safe_load(in_a_cluster("qos"))
    assert shipped.items() >= BACKOFF.items()
    stacks = [qos_stack(QosStackSettings()), side_stack("rank"), side_stack("qos")]
    for number, stack in enumerate(stacks):
        path = tmp_path / str(number)
        path.mkdir()
        config = yaml.safe_load(draw(a_lab(path), (stack,), None).files[CONFIG_FILE])
        assert config.items() >= BACKOFF.items(), stack
        plugins = config["profiles"][0]["plugins"]
        assert plugins.items() >= shipped["profiles"][0]["plugins"].items(), stack


def test_the_experiments_stock_side_is_kube_scheduler_as_it_comes(tmp_path: Path) -> None:
    config = yaml.safe_load(draw(a_lab(tmp_path), (side_stack("stock"),), None).files[CONFIG_FILE])
    assert (config["podInitialBackoffSeconds"], config["podMaxBackoffSeconds"]) == (1, 10)
    assert not {"queueSort", "preFilter"} & set(config["profiles"][0]["plugins"])


def test_measuring_only_leaves_the_stock_order_and_asks_no_webhook(tmp_path: Path) -> None:
    blueprint = a_blueprint(tmp_path, QosStackSettings(measure_only=True))
    plugins = profile(blueprint)["plugins"]
    assert "queueSort" not in plugins
    assert plugins["preBind"] == plugins["postBind"] == {"enabled": [{"name": "QosAware"}]}
    assert "--measure-only" in components(blueprint)["qos"].argv
    assert "MutatingWebhookConfiguration" not in blueprint.files["config/objects.json"]


def test_everybody_learns_the_ports_that_the_lab_has(tmp_path: Path) -> None:
    moved = {"qos": 10004, "qos-webhook": 9445, "qos-bindings": 10005}
    blueprint = a_blueprint(tmp_path, moved=moved)
    (arguments,) = (
        c["args"] for c in profile(blueprint)["pluginConfig"] if c["name"] == "QosAware"
    )
    assert arguments == {"bindingsAddress": "127.0.0.1:10005"}
    argv = components(blueprint)["qos"].argv
    assert "--port=10004" in argv
    assert "--webhook-port=9445" in argv
    assert "--bindings=http://127.0.0.1:10005/bindings" in argv
    assert "https://127.0.0.1:9445" in blueprint.files["config/objects.json"]


def test_a_configuration_of_the_users_own_stays_theirs(tmp_path: Path) -> None:
    own = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    lab = a_lab(tmp_path, own_scheduler_config=True)
    text = draw(lab, (qos_stack(QosStackSettings()),), own).files[CONFIG_FILE]
    assert "QosAware" not in text


def test_it_stands_beside_the_loop(tmp_path: Path) -> None:
    loop = loop_stack(LoopSettings(), script=Script(name="empty"), policy="profiles: []")
    both = draw(a_lab(tmp_path), (loop, qos_stack(QosStackSettings())), None)
    assert set(components(both)) >= {"descheduler", "vm-controller", "qos", "kube-scheduler"}
    assert profile(both)["plugins"]["queueSort"] == ONLY_OURS


def test_every_profile_gets_the_same_order_because_they_share_one_queue() -> None:
    text = yaml.safe_dump({"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}]})
    changed = yaml.safe_load(with_plugin(text, "qos", {"bindingsAddress": ""}))
    first, second = changed["profiles"]
    assert first["plugins"] == second["plugins"]
    assert first["pluginConfig"] == second["pluginConfig"]
    again = with_plugin(yaml.safe_dump(changed), "qos", {"bindingsAddress": ""})
    assert yaml.safe_load(again) == changed


@pytest.mark.parametrize("order", ["qos", "stock"])
def test_the_shipped_configuration_is_one_that_a_scheduler_takes(order: Any) -> None:
    config = parse_config(in_a_cluster(order), "scheduler-config.conf")
    (only,) = config["profiles"]
    assert ("queueSort" in only["plugins"]) is (order == "qos")
    assert config["leaderElection"]["leaderElect"] is True


def test_settings_come_back_from_a_lab_as_they_went() -> None:
    settings = QosStackSettings(measure_only=True, legacy=True, verbosity=4)
    assert from_lab(msgspec.to_builtins(settings)) == settings


def test_measuring_only_without_the_queue_is_refused(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with pytest.raises(ConfigError, match="add --with qos"):
        stack_of(home, "default", ("loop",), {"measure_only": True})
    stack = stack_of(home, "default", ("loop", "qos"), {"measure_only": True, "legacy": True})
    assert stack.settings["measure_only"] is True
