"""docs/reference/services.md, printed from the declarations of all services."""

from collections.abc import Iterable, Iterator
from typing import Any, get_args

from msgspec import NODEFAULT

from trimtab.install.rights import Role
from trimtab.install.service import ServiceSpec
from trimtab.kube.runtime.options import Declared, declared
from trimtab.stacks.registry import all_services, lab_ports

FILE = "docs/reference/services.md"
_HEAD = """\
# Services

<!-- Written by `make generate` from the declarations in trimtab/install/services and
trimtab/stacks/services; change it there. -->

`trimtab run NAME` runs one service in one process.
The command is the same in a lab, in a Deployment and in a terminal.
Every service serves /healthz, /readyz and /metrics.
It ends with 0 on SIGTERM, with 2 on a bad configuration and with 1 otherwise.
Each acts as the ServiceAccount of its name, with the rights below and no others.

All take `--kubeconfig PATH` (how to reach the API server; in a pod it is not needed)
and `--log-level debug|info|warning|error` (default info).
"""


def generate() -> dict[str, str]:
    services = all_services()
    return {FILE: "\n".join([_HEAD, _ports(services), *map(_section, services)])}


def _ports(services: list[ServiceSpec]) -> str:
    of = {name: service.name for service in services for name in service.ports}
    rows = [f"| {port} | {name} | {_link(of.get(name))} |" for name, port in _sorted(lab_ports())]
    return "\n".join(
        [
            "## Ports",
            "",
            "A lab listens on the loopback; a port that is taken moves to the next free one, and "
            "`trimtab lab status` prints it.",
            "",
            "| port | what | service |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def _sorted(ports: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(ports.items(), key=lambda pair: pair[1])


def _link(service: str | None) -> str:
    return f"[{service}](#{service})" if service else ""


def _section(service: ServiceSpec) -> str:
    parts = [f"## {service.name}", service.help, _installed(service)]
    if service.examples:
        parts.append("\n".join(["```sh", *service.examples, "```"]))
    parts.append(_options(declared(service.options)))
    if rows := list(_rights(service.roles())):
        parts.append(_table(("where", "resources", "verbs", "only"), rows))
    if groups := service.alerts():
        names = ", ".join(f"`{rule['alert']}`" for group in groups for rule in group["rules"])
        parts.append(f"Alerts: {names}.")
    return "\n\n".join(parts) + "\n"


def _installed(service: ServiceSpec) -> str:
    how = service.deployment
    if how is None:
        return "Port " + ", ".join(f"{port} ({name})" for name, port in service.ports.items()) + "."
    return f"Port {service.port}. In a cluster: k8s/{how.file}, namespace {how.namespace}."


def _options(options: Iterable[Declared]) -> str:
    rows = [(_names(each), _type(each), _default(each), each.help) for each in options]
    return _table(("option", "value", "default", "meaning"), rows)


def _names(each: Declared) -> str:
    return ", ".join(f"`{name}`" for name in each.names)


def _type(each: Declared) -> str:
    choices = [str(arg) for arg in get_args(each.type) if isinstance(arg, str)]
    if choices:
        return " \\| ".join(choices)
    if each.type is bool:
        return "flag"
    if each.option.parse is not None or each.type is str:
        return "text"
    return {int: "whole number", float: "number"}.get(each.type, _wording(each.type))


def _wording(kind: Any) -> str:
    names = {getattr(arg, "__name__", "") for arg in (kind, *get_args(kind))}
    return "path" if {"Path", "PosixPath"} & names else "number" if "float" in names else "text"


def _default(each: Declared) -> str:
    if each.default is NODEFAULT:
        return "required"
    if each.default in (None, False, "", (), {}) or not each.option.shown:
        return ""
    if each.default is True:
        return "on"
    text = each.option.write(each.default)
    return f"`{text if isinstance(text, str) else ' '.join(text)}`"


def _rights(roles: Iterable[Role]) -> Iterator[tuple[str, str, str, str]]:
    for role in roles:
        for right in role.rights:
            resources = [f"{r}.{right.group}" if right.group else r for r in right.resources]
            yield (
                role.namespace or "everywhere",
                ", ".join(resources),
                ", ".join(right.verbs),
                ", ".join(right.only),
            )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
