"""Export and import: a round trip, and every archive that must not get in."""

import io
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from builders.proxies.scripted_go import a_cache, everything_in
from trimtab.engines import locate
from trimtab.engines.archive import Imported, export, import_
from trimtab.engines.cache import MANIFEST, CacheManifest
from trimtab.errors import ConfigError, NotReady, TrimtabError


def quiet(said: str) -> None: ...


def take(file: Path, cache: Path) -> list[Imported]:
    return import_(file, cache, quiet, quiet)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_cache(tmp_path_factory.mktemp("built"), "etcd", "kwok")


@pytest.fixture
def full(tmp_path: Path, built: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "full", symlinks=True))


@pytest.mark.parametrize("name", ["engines.tar", "engines.tar.gz"])
def test_what_is_exported_can_be_imported_elsewhere(tmp_path: Path, full: Path, name: str) -> None:
    export(tmp_path / name, ("etcd", "kwok"), full, quiet)
    imported = take(tmp_path / name, tmp_path / "elsewhere")
    assert [(each.program, each.new) for each in imported] == [("etcd", True), ("kwok", True)]
    for program in ("etcd", "kwok"):
        copy = locate(program, tmp_path / "elsewhere")
        assert copy.read_bytes() == locate(program, full).read_bytes()
        assert copy.stat().st_mode & 0o777 == 0o755


def test_what_is_there_already_is_left_alone(tmp_path: Path, full: Path) -> None:
    export(tmp_path / "engines.tar", ("etcd",), full, quiet)
    before = locate("etcd", full).stat()
    assert [each.new for each in take(tmp_path / "engines.tar", full)] == [False]
    assert locate("etcd", full).stat().st_ino == before.st_ino


def test_an_archive_names_nobody(tmp_path: Path, full: Path) -> None:
    export(tmp_path / "engines.tar", ("etcd",), full, quiet)
    with tarfile.open(tmp_path / "engines.tar") as tar:
        assert {(member.uid, member.uname) for member in tar} == {(0, "")}


def test_what_is_not_built_cannot_be_exported(tmp_path: Path, full: Path) -> None:
    with pytest.raises(NotReady, match="kubectl is not built"):
        export(tmp_path / "engines.tar", ("etcd", "kubectl"), full, quiet)
    assert not (tmp_path / "engines.tar").exists()


def test_a_place_that_cannot_be_written_is_told_in_one_line(tmp_path: Path, full: Path) -> None:
    with pytest.raises(TrimtabError, match=r"cannot be written: No such file or directory"):
        export(tmp_path / "nowhere" / "engines.tar", ("etcd",), full, quiet)


Members = dict[str, bytes]


def _members(file: Path) -> Members:
    with tarfile.open(file) as tar:
        return {m.name: content.read() for m in tar if (content := tar.extractfile(m))}


def _write(file: Path, members: Members, kind: bytes = tarfile.REGTYPE) -> None:
    with tarfile.open(file, "w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = len(content), kind, "/etc/passwd"
            tar.addfile(info, io.BytesIO(content))


def _with_pins(members: Members, **changed: str) -> Members:
    """The archive that a trimtab with these pins would have written."""
    result = {}
    for name, content in members.items():
        if name.endswith(MANIFEST):
            made = msgspec.json.decode(content, type=CacheManifest)
            pins = msgspec.structs.replace(made.pins, **changed)
            made = msgspec.structs.replace(made, pins=pins)
            entry, content = made.entry_name, msgspec.json.encode(made)
        result[f"{entry}/{name.partition('/')[2]}"] = content
    return result


def _climb(members: Members) -> Members:
    return {f"../{name}": content for name, content in members.items()}


def _absolute(members: Members) -> Members:
    return {f"/tmp/{name}": content for name, content in members.items()}


def _stranger(members: Members) -> Members:
    return members | {"rm-0123456789abcdef/rm": b"x"}


def _extra_file(members: Members) -> Members:
    return members | {f"{next(iter(members)).partition('/')[0]}/etcd.sh": b"x"}


def _flipped(members: Members) -> Members:
    return {n: c if n.endswith(MANIFEST) else b"X" + c[1:] for n, c in members.items()}


def _cut(members: Members) -> Members:
    return {n: c if n.endswith(MANIFEST) else c[:-1] for n, c in members.items()}


def _no_manifest(members: Members) -> Members:
    return {n: c for n, c in members.items() if not n.endswith(MANIFEST)}


def _no_program(members: Members) -> Members:
    return {n: c for n, c in members.items() if n.endswith(MANIFEST)}


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        pytest.param(_climb, "which is no part of an engine", id="a path that climbs out"),
        pytest.param(_absolute, "which is no part of an engine", id="an absolute path"),
        pytest.param(
            _stranger, 'it holds "rm-0123456789abcdef/rm"', id="a program that is no engine"
        ),
        pytest.param(_extra_file, "etcd.sh", id="a file beside the program"),
        pytest.param(_flipped, "the checksum differs", id="a changed program"),
        pytest.param(_cut, "the checksum differs", id="a program that is cut off"),
        pytest.param(_no_manifest, "has no manifest", id="a program without a manifest"),
        pytest.param(_no_program, "the checksum differs", id="a manifest without a program"),
        pytest.param(lambda members: {}, "it holds no engines", id="nothing in it"),
        pytest.param(
            lambda members: _with_pins(members, platform="linux/riscv64"),
            "it was built for linux/riscv64, and this is linux/",
            id="another platform",
        ),
        pytest.param(
            lambda members: _with_pins(members, go_sum="other"),
            "has other pins than this trimtab; export it from the same version",
            id="other pins",
        ),
    ],
)
def test_a_wrong_archive_is_refused_as_a_whole(
    tmp_path: Path, full: Path, spoil: Callable[[Members], Members], reason: str
) -> None:
    file = tmp_path / "engines.tar"
    export(file, ("kwok", "etcd"), full, quiet)
    _write(file, spoil(_members(file)))
    with pytest.raises(ConfigError) as caught:
        take(file, tmp_path / "elsewhere")
    assert reason in str(caught.value)
    assert str(caught.value).endswith("; the cache is unchanged")
    assert everything_in(tmp_path / "elsewhere") == set()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_only_plain_files_are_taken(tmp_path: Path, full: Path, kind: bytes) -> None:
    name = f"{locate('etcd', full).parent.name}/etcd"
    _write(tmp_path / "engines.tar", {name: b""}, kind)
    with pytest.raises(ConfigError, match="which is no part of an engine"):
        take(tmp_path / "engines.tar", tmp_path / "elsewhere")
    assert everything_in(tmp_path / "elsewhere") == set()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"not an archive" * 100, id="not an archive"),
        pytest.param(b"\x1f\x8b\x08\x00 not really gzip" * 40, id="a broken gzip"),
    ],
)
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "engines.tar").write_bytes(content)
    with pytest.raises(ConfigError, match="it is damaged or not an archive"):
        take(tmp_path / "engines.tar", tmp_path / "cache")


@pytest.mark.parametrize("name", ["engines.tar", "engines.tar.gz"])
def test_an_archive_that_was_cut_off_is_refused(tmp_path: Path, full: Path, name: str) -> None:
    export(tmp_path / name, ("etcd", "kwok"), full, quiet)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 3])
    with pytest.raises(ConfigError, match="the cache is unchanged"):
        take(tmp_path / name, tmp_path / "elsewhere")
    assert everything_in(tmp_path / "elsewhere") == set()


def test_a_missing_file_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        take(tmp_path / "engines.tar", tmp_path / "cache")
