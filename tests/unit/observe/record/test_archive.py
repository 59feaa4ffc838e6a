"""The archive: the same bytes for the same content, and nothing damaged is read."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from builders.worlds.recordings import a_recording
from trimtab.errors import ConfigError
from trimtab.model.recorded.archive import encoded, read_recording, write_recording
from trimtab.model.recorded.recording import RecordedMigration
from trimtab.observe.record.anonymous import anonymous

TABLES = ("vm_cpu", "vm_delay", "vm_memory", "placement", "node_cpu", "node_memory")


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    recording = a_recording()
    write_recording(recording, tmp_path / "my.trimtab")
    found = read_recording(tmp_path / "my.trimtab")
    assert found.snapshot == recording.snapshot
    assert replace(found.manifest, files={}) == recording.manifest
    for table in TABLES:
        np.testing.assert_array_equal(getattr(found, table), getattr(recording, table))


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    write_recording(a_recording(), tmp_path / "my.trimtab")
    assert (tmp_path / "my.trimtab").stat().st_mode & 0o077 == 0


def test_equal_recordings_have_equal_bytes() -> None:
    assert encoded(a_recording()) == encoded(a_recording())


def test_a_changed_table_is_refused(tmp_path: Path) -> None:
    write_recording(a_recording(), tmp_path / "my.trimtab")
    other = tmp_path / "other.trimtab"
    with zipfile.ZipFile(tmp_path / "my.trimtab") as whole, zipfile.ZipFile(other, "w") as changed:
        for name in whole.namelist():
            data = whole.read(name)
            changed.writestr(name, data[:-4] + b"\0\0\0\0" if name == "vm_cpu.npy" else data)
    with pytest.raises(ConfigError, match="not what the manifest says"):
        read_recording(other)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"no zip at all", "no recording", id="another file"),
        pytest.param(b"", "no recording", id="an empty file"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "my.trimtab").write_bytes(content)
    with pytest.raises(ConfigError, match=said):
        read_recording(tmp_path / "my.trimtab")


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    data = encoded(a_recording())
    (tmp_path / "my.trimtab").write_bytes(data[: len(data) // 2])
    with pytest.raises(ConfigError, match="damaged"):
        read_recording(tmp_path / "my.trimtab")


def test_an_archive_from_before_migrations_were_recorded_is_read(tmp_path: Path) -> None:
    old = tmp_path / "old.trimtab"
    with zipfile.ZipFile(io.BytesIO(encoded(a_recording()))) as new, zipfile.ZipFile(old, "w") as z:
        for name in new.namelist():
            data = new.read(name)
            if name == "manifest.json":
                fields = json.loads(data)
                del fields["migrations"]
                data = json.dumps(fields).encode()
            z.writestr(name, data)
    assert read_recording(old).manifest.migrations == ()


def test_migrations_are_anonymous_too_and_those_of_vms_and_nodes_that_are_gone() -> None:
    moved = RecordedMigration(
        vm="bank/ledger", asked=10.0, ended=20.0, source="n2", target="retired", phase="Succeeded"
    )
    recording = a_recording()
    known = replace(moved, vm=recording.manifest.vms[0], target="n1", by="eviction")
    both = replace(recording.manifest, migrations=(moved, known))
    hidden, still = anonymous(replace(recording, manifest=both)).manifest.migrations
    text, names = str((hidden, still)), ("bank", "ledger", "retired", "shop", "n1'", "n2'")
    assert not [name for name in names if name in text]
    assert (still.source, still.target) == ("node-2", "node-1")
    assert (hidden.source, hidden.asked, hidden.ended) == ("node-2", 10.0, 20.0)
    assert still.by == "eviction"


def test_an_anonymous_recording_names_nobody_and_keeps_the_sums_of_nodes() -> None:
    recording = a_recording()
    shown = anonymous(recording, jitter=0.1, seed=1)
    assert b"shop" not in encoded(shown)
    assert shown.manifest.nodes == ("node-1", "node-2", "node-3")
    assert shown.manifest.vms[0].endswith("/vm-1")
    changed = np.abs(shown.vm_cpu / recording.vm_cpu - 1)
    assert 0.001 < float(changed.mean()) < 0.2
    np.testing.assert_allclose(
        shown.vms_on_nodes(shown.vm_cpu), recording.vms_on_nodes(recording.vm_cpu), rtol=1e-4
    )
