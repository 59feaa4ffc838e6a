"""The hash names what a build makes: any input that changes must change it."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from trimtab.engines import PROGRAMS
from trimtab.engines.pins import Pins, entry_hash, host_platform, pins_of, sources_dir
from trimtab.errors import ConfigError

WORDS = st.text("abc,-=", max_size=4)
PINS = st.builds(
    Pins,
    program=WORDS,
    package=WORDS,
    platform=WORDS,
    tags=st.lists(WORDS, max_size=3).map(tuple),
    ldflags=st.lists(WORDS, max_size=3).map(tuple),
    go_mod=WORDS,
    go_sum=WORDS,
    sources=WORDS,
)


@given(one=PINS, other=PINS, go=WORDS, other_go=WORDS)
def test_hashes_are_equal_only_for_equal_inputs(
    one: Pins, other: Pins, go: str, other_go: str
) -> None:
    same = one == other and go == other_go
    assert (entry_hash(one, go) == entry_hash(other, other_go)) is same


@given(pins=PINS, field=st.sampled_from(Pins.__struct_fields__), data=st.data())
def test_a_change_of_any_field_changes_the_hash(
    pins: Pins, field: str, data: st.DataObject
) -> None:
    words = st.lists(WORDS).map(tuple) if field in ("tags", "ldflags") else WORDS
    value = data.draw(words.filter(lambda new: new != getattr(pins, field)))
    changed = structs.replace(pins, **{field: value})
    assert entry_hash(changed, "go1.26.8") != entry_hash(pins, "go1.26.8")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    return Path(shutil.copytree(sources_dir(), tmp_path / "engines"))


@pytest.mark.parametrize("file", ["go.mod", "go.sum"])
def test_a_changed_module_file_concerns_every_program_of_that_module(
    sources: Path, file: str
) -> None:
    before = {name: pins_of(program, sources) for name, program in PROGRAMS.items()}
    with (sources / "prometheus" / file).open("a") as text:
        text.write("// changed\n")
    changed = {n for n, program in PROGRAMS.items() if pins_of(program, sources) != before[n]}
    assert changed == {"prometheus", "promtool"}


@pytest.mark.parametrize("file", ["cmd/kube-scheduler/main.go", "plugin/new.go"])
def test_our_own_go_files_concern_only_the_scheduler(sources: Path, file: str) -> None:
    before = {name: pins_of(program, sources) for name, program in PROGRAMS.items()}
    path = sources / "kubernetes" / file
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as text:
        text.write("// changed\n")
    changed = {n for n, program in PROGRAMS.items() if pins_of(program, sources) != before[n]}
    assert changed == {"kube-scheduler"}


def test_a_test_of_our_go_code_is_no_reason_to_compile(sources: Path) -> None:
    before = pins_of(PROGRAMS["kube-scheduler"], sources)
    (sources / "kubernetes" / "cmd" / "kube-scheduler" / "main_test.go").write_text(
        "package main\n"
    )
    assert pins_of(PROGRAMS["kube-scheduler"], sources) == before


def test_a_missing_module_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^the Go module of etcd cannot be read .*go\.mod"):
        pins_of(PROGRAMS["etcd"], tmp_path)


def test_the_platform_is_in_the_words_of_go() -> None:
    assert host_platform() in ("linux/amd64", "linux/arm64")
