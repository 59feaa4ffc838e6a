"""From a lab's spec and its stacks to everything that must be written down: a pure function."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from trimtab.errors import ConfigError
from trimtab.lab.components.component import (
    ApplyObjects,
    AwaitNodes,
    Component,
    CreateNodes,
    LabPlan,
    ProbePod,
    RequestTokens,
    SupervisorTask,
    TokenFile,
)
from trimtab.lab.components.control_plane import (
    admission_files,
    etcd,
    identities,
    kube_apiserver,
    kube_controller_manager,
)
from trimtab.lab.components.identity import ClientCert, ServerCert, ServiceIdentity, token_file
from trimtab.lab.components.kwok import CONFIG_FILE as KWOK_CONFIG
from trimtab.lab.components.kwok import kwok, kwok_config
from trimtab.lab.components.objects import bootstrap_objects
from trimtab.lab.components.scheduler import CONFIG_FILE as SCHEDULER_CONFIG
from trimtab.lab.components.scheduler import kube_scheduler, probe_scheduler_name, scheduler_config
from trimtab.lab.components.stack import Lab, Stack, StackContribution

OBJECTS_FILE = "config/objects.json"


class Blueprint(Struct, frozen=True, kw_only=True):
    """A whole lab on paper."""

    plan: LabPlan
    files: dict[str, str]
    links: dict[str, Path]
    clients: tuple[ClientCert, ...]
    servers: tuple[ServerCert, ...]
    services: tuple[ServiceIdentity, ...]


def draw(lab: Lab, stacks: tuple[Stack, ...], own_scheduler_config: str | None) -> Blueprint:
    """The control plane with what every stack contributes, in order."""
    scheduling = scheduler_config(lab.spec.placement, lab.spec.clock.scale, own_scheduler_config)
    parts = [_control_plane(lab, scheduling), *(stack.contribute(lab) for stack in stacks)]
    services = tuple(service for part in parts for service in part.services)
    objects: list[dict[str, Any]] = bootstrap_objects(lab.spec.clock, services)
    objects += [thing for part in parts for thing in part.objects]
    files = {name: text for part in parts for name, text in part.files.items()}
    files[OBJECTS_FILE] = msgspec.json.format(msgspec.json.encode(objects)).decode()
    apply = ApplyObjects(OBJECTS_FILE, digest(files[OBJECTS_FILE]))
    tasks = (
        SupervisorTask(name="objects", action=apply, needs=("kube-apiserver",)),
        *(task for part in parts for task in part.tasks),
    )
    plan = LabPlan(
        server=lab.server,
        components=tuple(_with_digest(component, files) for component in _merged(parts)),
        tasks=tasks + (_token_task() if services else ()),
        tokens=tuple(_token(service) for service in services),
    )
    return Blueprint(
        plan=check_plan(plan),
        files=files,
        links={name: target for part in parts for name, target in part.links.items()},
        clients=tuple(client for part in parts for client in part.clients),
        servers=tuple(server for part in parts for server in part.servers),
        services=services,
    )


def check_plan(plan: LabPlan) -> LabPlan:
    """The plan, if names are unique, every need exists, and nothing needs itself in the end."""
    needs = {name: unit.needs for name, unit in plan.units.items()}
    if len(needs) != len(plan.components) + len(plan.tasks):
        raise ConfigError("two units of the lab have the same name; rename one of them")
    done: set[str] = set()
    while len(done) < len(needs):
        startable = {name for name, others in needs.items() if done.issuperset(others)} - done
        if not startable:
            stuck = ", ".join(sorted(needs.keys() - done))
            raise ConfigError(f"these units need something that never starts: {stuck}")
        done |= startable
    return plan


def _control_plane(lab: Lab, scheduling: str) -> StackContribution:
    clients, servers = identities(lab)
    return StackContribution(
        components=(
            etcd(lab),
            kube_apiserver(lab),
            kube_controller_manager(lab),
            kube_scheduler(lab),
            kwok(lab),
        ),
        tasks=_tasks(lab, probe_scheduler_name(scheduling)),
        clients=clients,
        servers=servers,
        files={
            SCHEDULER_CONFIG: scheduling,
            KWOK_CONFIG: kwok_config(lab.spec.nodes),
            **admission_files(lab),
        },
    )


def _tasks(lab: Lab, scheduler_name: str) -> tuple[SupervisorTask, ...]:
    spec = lab.spec
    return (
        SupervisorTask(
            name="nodes",
            action=CreateNodes(spec.nodes, spec.node_size),
            needs=("kube-apiserver",),
        ),
        SupervisorTask(
            name="nodes-ready",
            action=AwaitNodes(spec.nodes),
            needs=("nodes", "kwok", "kube-controller-manager"),
        ),
        SupervisorTask(
            name="probe-pod",
            action=ProbePod(scheduler_name),
            needs=("objects", "nodes", "kwok", "kube-scheduler"),
        ),
    )


def _merged(parts: list[StackContribution]) -> tuple[Component, ...]:
    by_name = {component.name: component for part in parts for component in part.components}
    return tuple(by_name.values())


def digest(*texts: str) -> str:
    """Differs when a text does: it makes a description tell of what is in a file."""
    return sha256("\0".join(texts).encode()).hexdigest()[:16]


def _with_digest(component: Component, files: Mapping[str, str]) -> Component:
    if not component.reads:
        return component
    return structs.replace(component, digest=digest(*(files[name] for name in component.reads)))


def _token_task() -> tuple[SupervisorTask, ...]:
    return (SupervisorTask(name="tokens", action=RequestTokens(), needs=("objects",)),)


def _token(service: ServiceIdentity) -> TokenFile:
    return TokenFile(
        service=service.name,
        file=token_file(service.name),
        namespace=service.namespace,
        lifetime_s=service.lifetime_s,
        renew_after_s=service.renew_after_s,
    )
