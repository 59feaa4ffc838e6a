"""A service as a component of a lab: the same command, under its own account."""

import sys
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from trimtab.install.rights import granted
from trimtab.install.service import ServiceSpec
from trimtab.kube.runtime.options import written
from trimtab.lab.components.component import Component, HttpGet, HttpsGet, Probe
from trimtab.lab.components.identity import kubeconfig_file
from trimtab.lab.components.stack import CA_BUNDLE, Lab

Manifest = dict[str, Any]
AFTER_TOKENS = ("tokens", "kube-apiserver")


def component(
    lab: Lab,
    service: ServiceSpec,
    settings: Struct,
    *,
    ready: str = "readyz",
    shows: str = "",
    needs: tuple[str, ...] = AFTER_TOKENS,
    https: bool = False,
    env: Mapping[str, str] | None = None,
) -> Component:
    """The service with these settings on its port of this lab.

    It is ready when `ready` answers 200 with `shows` in the answer.
    """
    port = lab.port(service.name)
    url = f"{'https' if https else 'http'}://127.0.0.1:{port}"
    options = written(structs.replace(settings, port=port), always=frozenset({"port"}))
    return Component(
        name=service.name,
        argv=(*command(service.name), *options),
        probes=_probes(url, ready, shows),
        needs=needs,
        url=url,
        env=dict(env or {}),
    )


def _probes(url: str, ready: str, shows: str) -> tuple[Probe, ...]:
    if url.startswith("https:"):
        return (HttpsGet(f"{url}/readyz"),)
    first = HttpGet(f"{url}/readyz")
    return (first,) if ready == "readyz" else (first, HttpGet(f"{url}/{ready}", shows))


def command(service: str) -> tuple[str, ...]:
    """The start of the command line of a service of ours."""
    config = f"--kubeconfig={kubeconfig_file(service)}"
    return (sys.executable, "-m", "trimtab.cli", "run", service, config)


def objects(*services: ServiceSpec) -> list[Manifest]:
    """What the API server must know of these services: kinds, then policies, then rights."""
    return [
        *(each for service in services for each in service.kinds()),
        *(each for service in services for each in service.admission()),
        *(each for service in services for each in granted(service.name, service.roles())),
    ]


def webhook_at(lab: Lab, port: str) -> Manifest:
    """How the API server reaches a webhook of this lab."""
    return {"url": f"https://127.0.0.1:{lab.port(port)}", "caBundle": CA_BUNDLE}
