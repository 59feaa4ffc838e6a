"""The Go programs of a lab: where each comes from and how it is linked.

A version is written here only as text: what is compiled is pinned by the go.mod and go.sum
in `engines/<module>`, and `trimtab engines verify` holds the two against each other. The
order is the build order: the first program of a module compiles what the others share.

KubeVirt's module is optional: its programs are compiled when they are named, or when a lab
first asks for them.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from trimtab.errors import ConfigError

Module = Literal["kubernetes", "prometheus", "kubevirt"]

KUBERNETES = "v1.36.3"
PROMETHEUS = "3.12.0"
KUBEVIRT = "v1.8.2"
OPTIONAL: Module = "kubevirt"


class Program(Struct, frozen=True):
    """One program: the package of its main in a module, and the flags that make the difference."""

    name: str
    module: Module
    package: str
    version: str
    tags: tuple[str, ...] = ()
    ldflags: tuple[str, ...] = ("-s", "-w")
    ask_version: tuple[str, ...] = ("--version",)
    # What the answer shows instead of the version, for a program that cannot be asked for it.
    shows: str = ""

    @property
    def is_ours(self) -> bool:
        """Its main is in this repository, so our sources decide what comes out."""
        return self.package.startswith("./")

    @property
    def is_optional(self) -> bool:
        """Built only when it is named or first needed."""
        return self.module == OPTIONAL

    @property
    def how_to_build(self) -> str:
        """The command that makes it, for messages."""
        return f"trimtab engines build{f' {OPTIONAL}' if self.is_optional else ''}"


def _stamp(package: str, **variables: str) -> tuple[str, ...]:
    return tuple(
        flag for name, value in variables.items() for flag in ("-X", f"{package}.{name}={value}")
    )


def _kubernetes_version() -> tuple[str, ...]:
    """The server says `component-base`'s version at /version, its clients send `client-go`'s."""
    stamps = {"gitVersion": KUBERNETES, "gitMajor": "1", "gitMinor": "36", "gitTreeState": "clean"}
    return (
        "-s",
        "-w",
        *_stamp("k8s.io/component-base/version", **stamps),
        *_stamp("k8s.io/client-go/pkg/version", **stamps),
    )


def _control_plane(
    name: str,
    package: str,
    version: str = KUBERNETES,
    *,
    extra_ldflags: tuple[str, ...] = (),
    ask_version: tuple[str, ...] = ("--version",),
) -> Program:
    ldflags = _kubernetes_version() + extra_ldflags
    return Program(name, "kubernetes", package, version, (), ldflags, ask_version)


def _prometheus(name: str) -> Program:
    return Program(
        name,
        "prometheus",
        f"github.com/prometheus/prometheus/cmd/{name}",
        PROMETHEUS,
        # Static, file and http discovery remain; a lab has no use for the clouds' libraries.
        tags=("netgo", "remove_all_sd"),
        ldflags=("-s", "-w", *_stamp("github.com/prometheus/common/version", Version=PROMETHEUS)),
    )


def _kubevirt(
    name: str, package: str = "", *, ask_version: tuple[str, ...] = ("--help",), shows: str = ""
) -> Program:
    stamps = {"gitVersion": KUBEVIRT, "gitTreeState": "clean"}
    return Program(
        name,
        OPTIONAL,
        package or f"kubevirt.io/kubevirt/cmd/{name}",
        KUBEVIRT,
        ldflags=("-s", "-w", *_stamp("kubevirt.io/client-go/version", **stamps)),
        ask_version=ask_version,
        shows=shows,
    )


_DESCHEDULER = _control_plane(
    "descheduler",
    "sigs.k8s.io/descheduler/cmd/descheduler",
    "v0.36.0",
    extra_ldflags=(
        *_stamp("sigs.k8s.io/descheduler/pkg/version", version="v0.36.0"),
        # Relative on purpose: started in a lab's directory it reads that lab's CA, outside a pod
        # and without root.
        *_stamp("sigs.k8s.io/descheduler/pkg/descheduler/client", K8sPodCAFilePath="pki/ca.crt"),
    ),
    ask_version=("version",),
)

PROGRAMS: Mapping[str, Program] = MappingProxyType(
    {
        program.name: program
        for program in (
            _control_plane("kube-scheduler", "./cmd/kube-scheduler"),
            _control_plane("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
            _control_plane(
                "kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"
            ),
            _control_plane(
                "kubectl", "k8s.io/kubernetes/cmd/kubectl", ask_version=("version", "--client")
            ),
            _control_plane("etcd", "go.etcd.io/etcd/server/v3", "3.6.8"),
            _control_plane("kwok", "sigs.k8s.io/kwok/cmd/kwok", "v0.8.0"),
            _DESCHEDULER,
            _prometheus("prometheus"),
            _prometheus("promtool"),
            _kubevirt("virt-api", shows="--subresources-only"),
            _kubevirt("virt-controller", shows="--launcher-image"),
            _kubevirt("virtctl", ask_version=("version", "--client")),
            _kubevirt("kubevirt-objects", "./cmd/kubevirt-objects", ask_version=("--version",)),
        )
    }
)
REQUIRED = tuple(name for name, program in PROGRAMS.items() if not program.is_optional)


def chosen(names: Sequence[str]) -> list[Program]:
    """The programs of these names, or all that every lab needs; a module's name means all of it."""
    wanted = [program for name in names for program in _named(name)]
    return list(dict.fromkeys(wanted)) or [PROGRAMS[name] for name in REQUIRED]


def _named(name: str) -> list[Program]:
    if name in PROGRAMS:
        return [PROGRAMS[name]]
    of_module = [program for program in PROGRAMS.values() if program.module == name]
    if not of_module:
        known = ", ".join(PROGRAMS)
        raise ConfigError(f'there is no engine "{name}"; the engines are {known}, or {OPTIONAL}')
    return of_module
