"""A stack: what a layer above puts on top of a bare control plane.

The command line knows which stacks exist and passes them to `up`. There each is asked once
for its contribution, and everything it answers is written down as data; nothing of a stack is
imported by the running supervisor.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from trimtab.errors import ConfigError
from trimtab.lab.components.component import Component, SupervisorTask
from trimtab.lab.components.identity import ClientCert, ServerCert, ServiceIdentity
from trimtab.lab.spec import LabSpec


class Lab(Struct, frozen=True):
    """What the pure functions that describe components may know of a lab.

    Files are named relative to `dir`, which is every component's working directory.
    """

    dir: Path
    spec: LabSpec
    locate: Callable[[str], Path]

    def program(self, name: str) -> str:
        return str(self.locate(name))

    def port(self, name: str) -> int:
        return self.spec.ports[name]

    @property
    def server(self) -> str:
        """The API server's address for everybody on this computer."""
        everywhere = self.spec.listen in ("0.0.0.0", "::")
        host = "127.0.0.1" if everywhere else self.spec.listen
        return f"https://{f'[{host}]' if ':' in host else host}:{self.port('kube-apiserver')}"


CA_BUNDLE = "the lab's CA, in base64"
"""Stands in `objects` for the certificate of the lab's CA, which exists once files are written."""
CA_TEXT = "the lab's CA, as PEM"
"""The same as text."""


class StackContribution(Struct, frozen=True, kw_only=True):
    """What a stack adds. A component named like an earlier one replaces it.

    `objects` are applied in order once the API server is ready (the task "objects"); `files`
    are written with mode 0600, and `links` point elsewhere; both are named relative to the
    lab's directory. A stack only describes: whatever is written, the lab writes.
    """

    components: tuple[Component, ...] = ()
    tasks: tuple[SupervisorTask, ...] = ()
    clients: tuple[ClientCert, ...] = ()
    servers: tuple[ServerCert, ...] = ()
    services: tuple[ServiceIdentity, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, Path] = field(default_factory=dict)
    objects: tuple[dict[str, Any], ...] = ()


class Stack(Struct, frozen=True, kw_only=True):
    """A named stack; `ports` are the ports it wants by name, moved if they are taken.

    `settings` are kept in `lab.json` under the stack's name, so that the command line can make
    the same stack again when the lab is resumed.
    """

    name: str
    contribute: Callable[[Lab], StackContribution]
    ports: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


NONE = Stack(name="none", contribute=lambda _lab: StackContribution())


def choose(names: tuple[str, ...], known: Mapping[str, Stack]) -> tuple[Stack, ...]:
    """The stacks of these names; one that is not there is an error that says so."""
    for name in names:
        if name not in known:
            raise ConfigError(
                f'--with {name}: this trimtab has no stack "{name}"; it has {", ".join(known)}'
            )
    return tuple(known[name] for name in dict.fromkeys(names))
