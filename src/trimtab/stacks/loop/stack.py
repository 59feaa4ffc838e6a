"""The stack `loop`: everything that a lab runs on top of its control plane.

The stack reads the lab's directory and writes nothing: it describes, and the lab writes. What
people change later lives in the API (policy, rules, VMs), so a resumed lab finds it there; the
texts given here are what the projector and the scenario service put there once.
"""

from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import msgspec
from msgspec import structs, to_builtins

from trimtab.errors import ConfigError
from trimtab.exporter.settings import ExporterSettings
from trimtab.install.components import AFTER_TOKENS, component, objects, webhook_at
from trimtab.install.service import ServiceSpec, ports_of
from trimtab.install.services import exporter, page, vm_controller, webhook
from trimtab.install.vm.eviction_webhook import eviction_webhook
from trimtab.lab.components.component import Component
from trimtab.lab.components.identity import ServerCert, ServiceIdentity
from trimtab.lab.components.stack import Lab, Stack, StackContribution
from trimtab.lab.plan import digest
from trimtab.scores.prometheus.focus import SLOW_S
from trimtab.stacks.kubevirt.beside_loop import loop_objects
from trimtab.stacks.loop.descheduler import (
    CERTIFICATE,
    IDENTITY,
    descheduler,
    descheduler_objects,
    vm_keepers,
)
from trimtab.stacks.loop.projector.policy_file import shipped_rules
from trimtab.stacks.loop.prometheus import CONFIG_FILE, pages, prometheus, prometheus_config
from trimtab.stacks.loop.scenario.objects import Script
from trimtab.stacks.loop.scenario.player import RUNNING, read_script
from trimtab.stacks.loop.settings import (
    EXPORTER_TOKEN_FILE,
    KUBEVIRT_STACK,
    PAGE_TOKEN_FILE,
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
from trimtab.stacks.registry import PROGRAMS
from trimtab.stacks.services import projector, scenario, soft_tainter
from trimtab.vm import settings as vm_settings
from trimtab.web.settings import PageSettings

SERVICES = (
    vm_controller.SERVICE,
    webhook.SERVICE,
    exporter.SERVICE,
    projector.SERVICE,
    scenario.SERVICE,
)
PORTS = PROGRAMS | ports_of(SERVICES)
OPTIONAL_PORTS = ports_of((soft_tainter.SERVICE, page.SERVICE))
OWN_VMS = frozenset((vm_controller.NAME, webhook.NAME))
"""Services that only trimtab's own VMs need."""
MANY_NODES = 50
"""Up to here Prometheus evaluates every score in less than 0.2 s."""
MANY_EVALUATIONS = 50
"""Nodes times scale up to which every score is evaluated as often as the policy's: five nodes at a
scale of 15 would cost an eighth of a core."""
Manifest = dict[str, Any]


def loop_stack(
    settings: LoopSettings, *, script: Script | None = None, policy: str | None = None
) -> Stack:
    """The stack; without `script` or `policy` the lab keeps the ones it was given before."""

    def contribute(lab: Lab) -> StackContribution:
        check_interval(settings, lab.spec.clock.scale)
        files = _files(lab, script, policy)
        present = [each for each in services if each.name not in OWN_VMS or not _theirs(lab)]
        return StackContribution(
            components=tuple(_components(lab, settings, files)),
            clients=(IDENTITY,),
            servers=(ServerCert("webhook-server"), CERTIFICATE),
            services=tuple(ServiceIdentity(each.name) for each in present),
            files=files,
            links=pages(lab),
            objects=tuple(_objects(lab, present)),
        )

    services = (*SERVICES, *_optional(settings))
    wanted = PORTS | ports_of(services)
    return Stack(name=STACK, contribute=contribute, ports=wanted, settings=to_builtins(settings))


def _optional(settings: LoopSettings) -> list[ServiceSpec]:
    wanted = {soft_tainter.SERVICE.name: settings.soft_taints, page.SERVICE.name: settings.page}
    return [each for each in (soft_tainter.SERVICE, page.SERVICE) if wanted[each.name]]


def _files(lab: Lab, script: Script | None, policy: str | None) -> dict[str, str]:
    files = {
        EXPORTER_TOKEN_FILE: _kept(lab, EXPORTER_TOKEN_FILE) or token_urlsafe(24),
        PAGE_TOKEN_FILE: _kept(lab, PAGE_TOKEN_FILE) or token_urlsafe(24),
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
    except (FileNotFoundError, ConfigError):  # one that was cut off is written again
        return False
    return structs.replace(played, run=script.run).digest == script.digest


def _components(lab: Lab, settings: LoopSettings, files: dict[str, str]) -> list[Component]:
    optional = [_soft_tainter(lab, settings)] if settings.soft_taints else []
    optional += [_page(lab)] if settings.page else []
    own = [] if _theirs(lab) else [_vm_controller(lab, settings), _webhook(lab)]
    return [
        *optional,
        *own,
        _exporter(lab, settings),
        _projector(lab, files),
        _scenario(lab, settings, files),
        prometheus(lab),
        descheduler(lab, settings),
    ]


def _objects(lab: Lab, services: list[ServiceSpec]) -> list[Manifest]:
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in dict.fromkeys(("default", POLICY_MAP[0], RULES_MAP[0]))
    ]
    return [
        *namespaces,
        *objects(*services),
        *(loop_objects() if _theirs(lab) else [eviction_webhook(webhook_at(lab, webhook.NAME))]),
        *descheduler_objects(),
    ]


def _theirs(lab: Lab) -> bool:
    """Whether the VMs are KubeVirt's."""
    return KUBEVIRT_STACK in lab.spec.stacks


def _vm_controller(lab: Lab, settings: LoopSettings) -> Component:
    options = vm_settings.VmControllerSettings(
        mode=settings.migration,
        requests=settings.requests,
        bandwidth=settings.bandwidth,
        dirty_rate=settings.dirty_rate,
        limits=vm_settings.MigrationLimitOptions(settings.parallel, settings.parallel_per_node),
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
    options = ExporterSettings(
        pressure=settings.pressure,
        production=True,
        allow_scenario=True,
        token_file=Path(EXPORTER_TOKEN_FILE),
    )
    return component(lab, exporter.SERVICE, options)


def _projector(lab: Lab, files: dict[str, str]) -> Component:
    options = projector.ProjectorSettings(
        scale=lab.spec.clock.scale,
        prometheus=f"http://127.0.0.1:{lab.port('prometheus')}",
        promtool=Path(lab.program("promtool")),
        descheduler=f"https://127.0.0.1:{lab.port('descheduler')}",
        metrics_port=lab.port("descheduler-metrics"),
        slow=slow_rules_s(lab.spec.nodes, lab.spec.clock.scale),
    )
    env = _given_texts(lab, files, WISHED_POLICY_FILE, WISHED_RULES_FILE)
    return component(lab, projector.SERVICE, options, ready="projected", env=env)


def slow_rules_s(nodes: int, scale: float) -> float:
    """How often scores that the policy does not read are evaluated: every lab minute will do."""
    if nodes > MANY_NODES:
        return SLOW_S
    return SLOW_S / scale if nodes * scale > MANY_EVALUATIONS else 0.0


def _scenario(lab: Lab, settings: LoopSettings, files: dict[str, str]) -> Component:
    return component(
        lab,
        scenario.SERVICE,
        scenario.ScenarioSettings(file=Path(SCRIPT_FILE), requests=settings.requests),
        ready="running",
        shows=RUNNING,
        needs=(*AFTER_TOKENS, "nodes-ready", *vm_keepers(lab)),
        env=_given_texts(lab, files, SCRIPT_FILE),
    )


def _soft_tainter(lab: Lab, settings: LoopSettings) -> Component:
    options = soft_tainter.SoftTainterSettings(
        policy=Path(POLICY_FILE),
        prometheus=f"http://127.0.0.1:{lab.port('prometheus')}",
        interval_s=settings.interval(lab.spec.clock.scale),
    )
    return component(lab, soft_tainter.SERVICE, options, needs=("projector", "prometheus"))


def _page(lab: Lab) -> Component:
    """It starts after the rest, so that no other component waits for it."""
    options = PageSettings(
        token_file=Path(PAGE_TOKEN_FILE),
        title=f"lab {lab.spec.name}",
        prometheus=f"http://127.0.0.1:{lab.port('prometheus')}",
        policy=Path(POLICY_FILE),
        background=True,
    )
    return component(lab, page.SERVICE, options, needs=("projector", "prometheus"))


def _given_texts(lab: Lab, files: dict[str, str], *names: str) -> dict[str, str]:
    """A description that differs when a file does, so that a refreshed lab restarts its reader."""
    texts = [files.get(name) or _kept(lab, name) for name in names]
    return {"TRIMTAB_WISHES": digest(*texts)}


def _kept(lab: Lab, name: str) -> str:
    file = lab.dir / name
    return file.read_text(errors="replace") if file.exists() else ""
