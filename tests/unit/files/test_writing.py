"""Files are written whole, or not at all."""

import stat
from pathlib import Path

import pytest

from trimtab.files.writing import make_private_dir, write_private, write_whole


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "file"
    write_whole(target, "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(target, b"new")
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_private_file_is_its_owners_alone_and_says_whether_it_changed(tmp_path: Path) -> None:
    path = tmp_path / "key"
    assert write_private(path, "secret")
    assert not write_private(path, b"secret")
    assert write_private(path, "other")
    assert (path.read_text(), mode(path)) == ("other", 0o600)


def test_a_private_directory_is_private_with_the_parents_that_had_to_be_made(
    tmp_path: Path,
) -> None:
    make_private_dir(tmp_path / "a" / "b")
    assert [mode(tmp_path / "a"), mode(tmp_path / "a" / "b")] == [0o700, 0o700]
