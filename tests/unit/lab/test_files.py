"""Files of a lab: private, atomic, versioned; logs that rotate and are followed."""

import os
import tarfile
from pathlib import Path

import pytest

from builders.labs.lab import a_lab_on_disk, a_spec
from trimtab.errors import ConfigError, Conflict
from trimtab.files.lock import held, is_held
from trimtab.files.writing import make_private_dir, write_private
from trimtab.lab.files import logs
from trimtab.lab.files.bundle import write_bundle
from trimtab.lab.files.layout import Home, LabDir
from trimtab.lab.inspection import survey


def test_a_private_file_is_private_from_its_first_byte(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        write_private(tmp_path / "key", "secret")
    finally:
        os.umask(previous)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["key"]


def test_an_unchanged_file_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert write_private(file, "a")
    before = file.stat()
    assert not write_private(file, "a")
    after = file.stat()  # when it was last read is nobody's business
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_failed_write_keeps_the_old_text_and_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.mkdir()  # cannot be replaced by a file
    with pytest.raises(OSError, match="file"):
        write_private(file / "..", "text")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_parents_of_a_private_directory_are_private_too(tmp_path: Path) -> None:
    make_private_dir(tmp_path / "a" / "b")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{", "lab.json: .*trimtab lab wipe --name broken", id="not JSON"),
        pytest.param('{"name":"x"}', "missing required field", id="not a lab"),
        pytest.param(
            '{"name":"x","created":"","clock":[0,1],"version":9}'.replace("[0,1]", '{"epoch":0}'),
            "version 9, this trimtab knows 1",
            id="from the future",
        ),
    ],
)
def test_an_unreadable_lab_says_what_to_do(tmp_path: Path, text: str, message: str) -> None:
    lab = LabDir(tmp_path / "broken")
    make_private_dir(lab.path)
    lab.spec_file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        lab.read_spec()


def test_an_unreadable_lab_does_not_hide_the_ports_of_the_others(tmp_path: Path) -> None:
    home = Home(tmp_path)
    a_lab_on_disk(tmp_path / "labs" / "good", ports={"kube-apiserver": 7})
    make_private_dir(tmp_path / "labs" / "bad")
    (tmp_path / "labs" / "bad" / "lab.json").write_text("{")
    assert home.all_ports() == {"good": {"kube-apiserver": 7}}
    assert [lab.name for lab in home.labs()] == ["bad", "good"]


def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    assert not is_held(lock)
    with held(lock, wait_s=0):
        assert is_held(lock)
        with pytest.raises(Conflict, match="another trimtab process"), held(lock, wait_s=0):
            pass
    assert not is_held(lock)


def test_the_tail_of_a_log_is_its_last_lines_since_a_position(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    assert logs.tail(log, 3) == ()
    log.write_text("1\n2\n\n3\n4\n")
    assert logs.tail(log, 3) == ("2", "3", "4")
    assert logs.tail(log, 3, since=len("1\n2\n\n3\n")) == ("4",)


def test_last_words_leave_out_the_stacks_of_a_crash(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(
        "starting\npanic: no space left on device\n\ngoroutine 1 [running]:\nmain.go:1\n"
    )
    assert logs.last_words(log, 5, 0) == ("starting", "panic: no space left on device")
    log.write_text("one\ntwo\nthree\n")
    assert logs.last_words(log, 2, 0) == ("two", "three")


def test_rotation_keeps_writers_writing(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    with log.open("a") as writer:
        writer.write("old\n")
        writer.flush()
        assert not logs.rotate(log, limit=10)
        assert logs.rotate(log, limit=3)
        writer.write("new\n")
    assert log.read_text() == "new\n"
    assert log.with_suffix(".log.1").read_text() == "old\n"


def test_following_a_log_survives_its_rotation(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("skipped\n")
    lines = logs.follow(log, logs.size(log), poll_s=0)
    log.write_text("skipped\nseen\n")
    assert next(lines) == "seen\n"
    log.write_text("new\n")
    assert next(lines) == "new\n"


def test_a_full_disk_does_not_stop_the_log(tmp_path: Path) -> None:
    full = tmp_path / "full.log"
    full.symlink_to("/dev/full")
    with logs.LogStream(full) as stream:
        assert stream.write("text") == 4
        assert stream.trouble == "No space left on device"


def test_a_bundle_holds_logs_and_status_and_no_secret(tmp_path: Path) -> None:
    lab = a_lab_on_disk(tmp_path / "lab")
    write_private(lab.kubeconfig, "secret")
    write_private(lab.pki / "watcher.token", "secret")
    lab.log("etcd").write_text("a line")
    write_bundle(lab, tmp_path / "bundle.tar.gz")
    with tarfile.open(tmp_path / "bundle.tar.gz") as archive:
        names = {name.removeprefix("trimtab-lab-lab/") for name in archive.getnames()}
    assert names == {"lab.json", "plan.json", "logs/etcd.log", "status.json", "host.txt"}


def test_a_spec_survives_being_written(tmp_path: Path) -> None:
    lab = a_lab_on_disk(tmp_path / "test", nodes=7)
    assert lab.read_spec() == a_spec(nodes=7)


@pytest.mark.parametrize("damage", [b"", b"{", b'{"name": "\xff"}', b"\0" * 50])
def test_torn_files_stop_nobody_who_looks_at_labs(tmp_path: Path, damage: bytes) -> None:
    home = Home(tmp_path)
    good = a_lab_on_disk(tmp_path / "labs" / "good")
    bad = a_lab_on_disk(tmp_path / "labs" / "torn")
    bad.spec_file.write_bytes(damage)
    good.run_file.write_bytes(damage)
    first, second = survey(home)
    assert (first.name, first.phase) == ("good", "stopped")
    assert second.message.startswith(f"{bad.spec_file}: ")
    assert second.message.endswith("remove the lab: trimtab lab wipe --name torn")
    assert home.all_ports().keys() == {"good"}
