"""The stack `loop`: everything that a lab runs on top of its control plane.

The stack reads the lab's directory and writes nothing: it describes, and the lab writes. What
people change later lives in the API (policy, rules, VMs), so a resumed lab finds it there; the
texts given here are what the projector and the scenario service put there once.
"""

import sys
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import msgspec
from msgspec import structs

from trimtab.errors import ConfigError
from trimtab.install.components import component, objects, webhook_at
from trimtab.install.exporter.rbac import exporter_rbac
from trimtab.install.loop.rbac import projector_rbac, scenario_rbac
from trimtab.install.loop.soft_tainter_rights import soft_tainter_rights
from trimtab.install.services import vm_controller, webhook
from trimtab.install.vm.admission import eviction_webhook
from trimtab.lab import Component, Contribution, Lab, ServerCert, Service, Stack
from trimtab.lab.components.component import HttpGet
from trimtab.lab.components.identity import kubeconfig_file
from trimtab.lab.plan import digest
from trimtab.stacks.loop.descheduler import CERTIFICATE, IDENTITY, descheduler, descheduler_objects
from trimtab.stacks.loop.projector.rules_file import shipped_rules
from trimtab.stacks.loop.prometheus import CONFIG_FILE, pages, prometheus, prometheus_config
from trimtab.stacks.loop.scenario.objects import Script
from trimtab.stacks.loop.scenario.player import RUNNING, read_script
from trimtab.stacks.loop.settings import (
    EXPORTER_TOKEN_FILE,
    POLICY_FILE,
    POLICY_MAP,
    RULES_MAP,
    SCRIPT_FILE,
    STACK,
    WISHED_POLICY_FILE,
    WISHED_RULES_FILE,
    LoopSettings,
    check_interval,
)
from trimtab.vm import settings as vm_settings

PORTS = {
    "prometheus": 9090,
    "exporter": 8000,
    "webhook": 9443,
    "descheduler-metrics": 8443,
    "descheduler": 10258,
    "vm-controller": 8085,
    "projector": 8086,
    "scenario": 8087,
}
FOCUS_ABOVE = 50
"""Nodes up to which Prometheus evaluates every score often: that takes it less than 0.2 s."""
SOFT_TAINTER_PORT = {"soft-tainter": 8088}
SERVICES = ("vm-controller", "webhook", "exporter", "projector", "scenario")
_AFTER_TOKENS = ("tokens", "kube-apiserver")
Manifest = dict[str, Any]


def loop_stack(
    settings: LoopSettings, *, script: Script | None = None, policy: str | None = None
) -> Stack:
    """The stack; without `script` or `policy` the lab keeps the ones it was given before."""

    def contribute(lab: Lab) -> Contribution:
        check_interval(settings, lab.spec.clock.scale)
        files = _files(lab, script, policy)
        return Contribution(
            components=tuple(_components(lab, settings, files)),
            clients=(IDENTITY,),
            servers=(ServerCert("webhook-server"), CERTIFICATE),
            services=tuple(Service(name) for name in (*SERVICES, *optional)),
            files=files,
            links=pages(lab),
            objects=tuple(_objects(lab, settings)),
        )

    optional = SOFT_TAINTER_PORT if settings.soft_taints else {}
    ports = PORTS | optional
    return Stack(name=STACK, contribute=contribute, ports=ports, settings=settings.to_lab())


def _files(lab: Lab, script: Script | None, policy: str | None) -> dict[str, str]:
    files = {
        EXPORTER_TOKEN_FILE: _kept(lab, EXPORTER_TOKEN_FILE) or token_urlsafe(24),
        CONFIG_FILE: prometheus_config(lab),
        WISHED_RULES_FILE: shipped_rules(lab.spec.nodes),
    }
    if policy is not None:
        files[WISHED_POLICY_FILE] = policy
    if script is not None and not _is_there(lab, script):
        files[SCRIPT_FILE] = msgspec.json.encode(script).decode()
    return files


def _is_there(lab: Lab, script: Script) -> bool:
    """Whether the lab plays this very scenario already, be it in a later run."""
    try:
        played = read_script((lab.dir / SCRIPT_FILE).read_bytes(), SCRIPT_FILE)
    except (FileNotFoundError, ConfigError):  # a torn one is written anew
        return False
    return structs.replace(played, run=script.run).digest == script.digest


def _components(lab: Lab, settings: LoopSettings, files: dict[str, str]) -> list[Component]:
    optional = [_soft_tainter(lab, settings)] if settings.soft_taints else []
    return [
        *optional,
        _vm_controller(lab, settings),
        _webhook(lab),
        _exporter(lab, settings),
        _projector(lab, files),
        _scenario(lab, files),
        prometheus(lab),
        descheduler(lab, settings),
    ]


def _objects(lab: Lab, settings: LoopSettings) -> list[Manifest]:
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in dict.fromkeys(("default", POLICY_MAP[0], RULES_MAP[0]))
    ]
    return [
        *namespaces,
        *objects(vm_controller.SERVICE, webhook.SERVICE),
        eviction_webhook(webhook_at(lab, "webhook")),
        *exporter_rbac(allow_scenario=True),
        *projector_rbac([POLICY_MAP, RULES_MAP]),
        *scenario_rbac(),
        *descheduler_objects(),
        *(soft_tainter_rights() if settings.soft_taints else ()),
    ]


def trimtab(service: str, *options: str) -> tuple[str, ...]:
    """The command line of a service of ours."""
    config = f"--kubeconfig={kubeconfig_file(service)}"
    return (sys.executable, "-m", "trimtab.cli", "run", service, config, *options)


def _service(lab: Lab, name: str, *options: str, ready: str = "readyz", **more: Any) -> Component:
    url = f"http://127.0.0.1:{lab.port(name)}"
    return Component(
        name=name,
        argv=trimtab(name, *options),
        probes=(HttpGet(f"{url}/readyz"), HttpGet(f"{url}/{ready}", more.pop("shows", ""))),
        needs=more.pop("needs", _AFTER_TOKENS),
        url=url,
        **more,
    )


def _vm_controller(lab: Lab, settings: LoopSettings) -> Component:
    options = vm_settings.Settings(
        mode=settings.migration,
        requests=settings.requests,
        bandwidth=settings.bandwidth,
        dirty_rate=settings.dirty_rate,
        limits=vm_settings.Limits(settings.parallel, settings.parallel_per_node),
    )
    return component(lab, vm_controller.SERVICE, options)


def _webhook(lab: Lab) -> Component:
    options = vm_settings.WebhookSettings(
        certificate=Path("pki/webhook-server.crt"),
        key=Path("pki/webhook-server.key"),
        client_ca=Path("pki/ca.crt"),
    )
    return component(lab, webhook.SERVICE, options, https=True)


def _exporter(lab: Lab, settings: LoopSettings) -> Component:
    """With the counters of production rules, so that changing the rules is all it takes."""
    return _service(
        lab,
        "exporter",
        f"--listen=127.0.0.1:{lab.port('exporter')}",
        f"--pressure={msgspec.json.encode(settings.pressure).decode()}",
        "--node-exporter",
        "--allow-scenario",
        f"--token-file={EXPORTER_TOKEN_FILE}",
    )


def _projector(lab: Lab, files: dict[str, str]) -> Component:
    return _service(
        lab,
        "projector",
        f"--port={lab.port('projector')}",
        f"--scale={lab.spec.clock.scale}",
        f"--prometheus=http://127.0.0.1:{lab.port('prometheus')}",
        f"--promtool={lab.program('promtool')}",
        f"--descheduler=https://127.0.0.1:{lab.port('descheduler')}",
        f"--metrics-port={lab.port('descheduler-metrics')}",
        *(("--focus",) if lab.spec.nodes > FOCUS_ABOVE else ()),
        ready="projected",
        env=_wishes(lab, files, WISHED_POLICY_FILE, WISHED_RULES_FILE),
    )


def _scenario(lab: Lab, files: dict[str, str]) -> Component:
    return _service(
        lab,
        "scenario",
        f"--file={SCRIPT_FILE}",
        f"--port={lab.port('scenario')}",
        ready="running",
        shows=RUNNING,
        needs=(*_AFTER_TOKENS, "nodes-ready", "vm-controller"),
        env=_wishes(lab, files, SCRIPT_FILE),
    )


def _soft_tainter(lab: Lab, settings: LoopSettings) -> Component:
    return _service(
        lab,
        "soft-tainter",
        f"--policy={POLICY_FILE}",
        f"--prometheus=http://127.0.0.1:{lab.port('prometheus')}",
        f"--interval={settings.interval(lab.spec.clock.scale):g}",
        f"--port={lab.port('soft-tainter')}",
        needs=("projector", "prometheus"),
    )


def _wishes(lab: Lab, files: dict[str, str], *names: str) -> dict[str, str]:
    """A description that differs when a file does, so that a refreshed lab restarts its reader."""
    texts = [files.get(name) or _kept(lab, name) for name in names]
    return {"TRIMTAB_WISHES": digest(*texts)}


def _kept(lab: Lab, name: str) -> str:
    file = lab.dir / name
    return file.read_text(errors="replace") if file.exists() else ""
