"""What the pinned modules say and what `PROGRAMS` says must be one thing."""

import re

import pytest

from trimtab.engines import PROGRAMS, REQUIRED, Program, chosen
from trimtab.engines.pins import sources_dir
from trimtab.errors import ConfigError

GO_MODULE_OF = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kwok": "sigs.k8s.io/kwok",
    "descheduler": "sigs.k8s.io/descheduler",
}


KUBEVIRT = ["virt-api", "virt-controller", "virtctl", "kubevirt-objects"]


def test_every_lab_needs_nine_programs() -> None:
    assert set(REQUIRED) == {
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
    elif program.module == "kubevirt":
        required = f"kubevirt.io/kubevirt {program.version}"
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


def test_kubevirt_is_chosen_only_when_it_is_named() -> None:
    assert [program.name for program in chosen(())] == list(REQUIRED)
    assert [program.name for program in chosen(("kubevirt",))] == KUBEVIRT


def test_a_program_named_twice_is_chosen_once() -> None:
    assert [each.name for each in chosen(("virtctl", "kubevirt"))][:2] == ["virtctl", "virt-api"]
    assert len(chosen(("virtctl", "kubevirt"))) == len(KUBEVIRT)


def test_a_name_that_is_neither_program_nor_module_is_refused() -> None:
    with pytest.raises(ConfigError, match=r'no engine "virt-handler".*, or kubevirt'):
        chosen(("virt-handler",))


@pytest.mark.parametrize("name", ["kubevirt.io/api", "kubevirt.io/client-go"])
def test_kubevirts_local_modules_are_replaced_by_the_same_version(name: str) -> None:
    go_mod = (sources_dir() / "kubevirt" / "go.mod").read_text()
    assert f"{name} => {name} {PROGRAMS['virt-api'].version}" in go_mod
