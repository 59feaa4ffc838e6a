"""The archive of a recording: one zip whose bytes depend on its content alone.

manifest.json comes first and has the hash of every other file; a file that does not match is
refused, because an answer from half a recording looks like any other answer.
"""

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from trimtab.errors import ConfigError
from trimtab.files.writing import write_whole
from trimtab.model.recorded.recording import FORMAT, ClusterRecording, Manifest
from trimtab.model.snapshot import decode, encode

_MANIFEST, _SNAPSHOT = "manifest.json", "snapshot.json"
_TABLES = ("vm_cpu", "vm_delay", "vm_memory", "placement", "node_cpu", "node_memory")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip knows
_LARGEST = 8 * 2**30
"""Bytes of one file inside: beyond it somebody wants to fill the memory."""


def write_recording(recording: ClusterRecording, path: Path) -> None:
    """Write the archive whole, readable by its owner alone: it tells what a cluster is like."""
    write_whole(path, encoded(recording), 0o600)


def encoded(recording: ClusterRecording) -> bytes:
    """The archive's bytes; equal recordings give equal bytes."""
    files = {_SNAPSHOT: encode(recording.snapshot)}
    for table in _TABLES:
        files[f"{table}.npy"] = _npy(getattr(recording, table))
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    manifest = replace(recording.manifest, files=hashes)
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, data in {_MANIFEST: text, **files}.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = 0o600 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return buffer.getvalue()


def read_recording(path: Path) -> ClusterRecording:
    """The recording, every file of it checked."""
    manifest, archive = _opened(path)
    with archive:
        files = {name: _checked(archive, name, manifest, path) for name in _names()}
    tables = {table: _table(files[f"{table}.npy"], path) for table in _TABLES}
    recording = ClusterRecording(
        manifest=manifest, snapshot=decode(files[_SNAPSHOT], f"{path}: {_SNAPSHOT}"), **tables
    )
    _check_shapes(recording, path)
    return recording


def _names() -> tuple[str, ...]:
    return (_SNAPSHOT, *(f"{table}.npy" for table in _TABLES))


def _opened(path: Path) -> tuple[Manifest, zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(path)
        text = _content(archive, _MANIFEST, path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except zipfile.BadZipFile as error:
        raise ConfigError(
            f"{path}: it is no recording, or a damaged one; write it with trimtab record"
        ) from error
    try:
        return msgspec.json.decode(text, type=Manifest), archive
    except msgspec.MsgspecError as error:
        archive.close()
        raise ConfigError(f"{path}: {_MANIFEST}: {error}; this is not a {FORMAT}") from error


def _content(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    try:
        if archive.getinfo(name).file_size > _LARGEST:
            raise ConfigError(f"{path}: {name} is larger than {_LARGEST >> 30} GiB")
        return archive.read(name)
    except KeyError as error:
        raise ConfigError(f"{path}: {name} is missing; it is not a whole recording") from error
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
        raise ConfigError(f"{path}: {name} is damaged ({error})") from error


def _checked(archive: zipfile.ZipFile, name: str, manifest: Manifest, path: Path) -> bytes:
    data = _content(archive, name, path)
    if hashlib.sha256(data).hexdigest() != manifest.files.get(name):
        raise ConfigError(f"{path}: {name} is not what the manifest says; record again")
    return data


def _npy(table: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(table), allow_pickle=False)
    return buffer.getvalue()


def _table(data: bytes, path: Path) -> NDArray[Any]:
    try:
        table: NDArray[Any] = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ConfigError(f"{path}: a table cannot be read ({error})") from error
    return table


def _check_shapes(recording: ClusterRecording, path: Path) -> None:
    """Columns without a name, or names without a column, would be mixed up later."""
    manifest = recording.manifest
    for table in _TABLES:
        columns = manifest.nodes if table.startswith("node") else manifest.vms
        expected = (manifest.moments, len(columns))
        values: NDArray[Any] = getattr(recording, table)
        kind = np.int32 if table == "placement" else np.float32
        if values.shape != expected or values.dtype != kind:
            raise ConfigError(f"{path}: {table} is {values.shape}, the manifest says {expected}")
    places = recording.placement
    if places.size and not (int(places.min()) >= -1 and int(places.max()) < len(manifest.nodes)):
        raise ConfigError(f"{path}: placement names a node that the manifest does not have")
    if not (manifest.step_s > 0 and manifest.moments > 0):
        raise ConfigError(f"{path}: it holds no moment at all")
