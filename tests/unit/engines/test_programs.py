"""What the pinned modules say and what `PROGRAMS` says must be one thing."""

import re

import pytest

from trimtab.engines import PROGRAMS, Program
from trimtab.engines.pins import sources_dir

GO_MODULE_OF = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kwok": "sigs.k8s.io/kwok",
    "descheduler": "sigs.k8s.io/descheduler",
}


def test_a_lab_has_nine_programs() -> None:
    assert set(PROGRAMS) == {
        "kube-scheduler",
        "kube-apiserver",
        "kube-controller-manager",
        "kubectl",
        "etcd",
        "kwok",
        "descheduler",
        "prometheus",
        "promtool",
    }


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.name)
def test_the_version_in_the_text_is_the_version_in_go_mod(program: Program) -> None:
    go_mod = (sources_dir() / program.module / "go.mod").read_text()
    if program.module == "prometheus":  # 3.12.0 is v0.312.0 as a Go module
        major, minor, patch = program.version.split(".")
        required = f"github.com/prometheus/prometheus v0.{major}{minor}.{patch}"
    else:
        go_module = GO_MODULE_OF.get(program.name, "k8s.io/kubernetes")
        required = f"{go_module} v{program.version.removeprefix('v')}"
    assert re.search(rf"^\s+{re.escape(required)}( //.*)?$", go_mod, re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.name)
def test_a_main_of_others_is_kept_by_a_tool_directive(program: Program) -> None:
    go_mod = (sources_dir() / program.module / "go.mod").read_text()
    directive = re.compile(rf"^(tool\s+|\s+){re.escape(program.package)}$", re.MULTILINE)
    assert program.is_ours or directive.search(go_mod)


def test_the_descheduler_reads_the_ca_of_the_lab_it_is_started_in() -> None:
    flag = "sigs.k8s.io/descheduler/pkg/descheduler/client.K8sPodCAFilePath=pki/ca.crt"
    assert flag in PROGRAMS["descheduler"].ldflags
