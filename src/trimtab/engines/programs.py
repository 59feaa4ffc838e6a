"""The Go programs of a lab: where each comes from and how it is linked.

A version is written here only as text: what is compiled is pinned by the go.mod and go.sum
in `engines/<module>`, and `trimtab engines verify` holds the two against each other. The
order is the build order: the first program of a module compiles what the others share.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

Module = Literal["kubernetes", "prometheus"]

KUBERNETES = "v1.36.3"
PROMETHEUS = "3.12.0"


class Program(Struct, frozen=True):
    """One program: the package of its main in a module, and the flags that make the difference."""

    name: str
    module: Module
    package: str
    version: str
    tags: tuple[str, ...] = ()
    ldflags: tuple[str, ...] = ("-s", "-w")
    ask_version: tuple[str, ...] = ("--version",)

    @property
    def is_ours(self) -> bool:
        """Its main is in this repository, so our sources decide what comes out."""
        return self.package.startswith("./")


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
        )
    }
)
