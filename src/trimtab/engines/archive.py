"""Engines in one file, for a machine without network: `export` there, `import` here.

The checksums in the archive guard against damage, not against malice: import only what you or
someone you trust has exported. Nothing reaches the cache before everything has been checked.
"""

import gzip
import re
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from trimtab.engines.cache import MANIFEST, Entry, find, program, read_entry
from trimtab.engines.lock import exclusive
from trimtab.engines.pins import pins_of
from trimtab.engines.programs import PROGRAMS
from trimtab.engines.store import put, remove_leftovers, sha256_of, staging
from trimtab.errors import ConfigError, NotReady, TrimtabError

_MEMBER = re.compile(r"(?P<entry>(?P<program>[a-z-]+)-[0-9a-f]{16})/(?P<file>[a-z.-]+)")
_LARGEST = 1 << 30  # the largest engine has 105 MB


class Imported(Struct, frozen=True):
    """`new` is False if the same program was there already."""

    program: str
    path: Path
    new: bool


def export(
    file: Path, names: Sequence[str], cache: Path, report: Callable[[str], None]
) -> list[Entry]:
    """Write the built programs (all nine, if no names) to `file`; gzipped if it is named so."""
    wanted = [program(name).name for name in names] or list(PROGRAMS)
    found = [_needed(name, cache) for name in wanted]
    try:
        with tempfile.TemporaryDirectory(prefix=".trimtab-", dir=file.absolute().parent) as aside:
            partial = Path(aside) / file.name
            with _open_for_writing(partial) as tar:
                for entry in found:
                    report(entry.manifest.pins.program)
                    _add(tar, entry)
            partial.replace(file)
    except OSError as error:
        reason = f"{file} cannot be written: {error.strerror}; choose another place"
        raise TrimtabError(reason) from error
    return found


def _needed(name: str, cache: Path) -> Entry:
    entry = find(name, cache)
    if entry is None:
        raise NotReady(f"{name} is not built; run: trimtab engines build")
    return entry


def _open_for_writing(file: Path) -> tarfile.TarFile:
    if file.name.endswith((".gz", ".tgz")):
        return tarfile.open(file, "w:gz", compresslevel=3)
    return tarfile.open(file, "w")


def _add(tar: tarfile.TarFile, entry: Entry) -> None:
    """The manifest first, without the owner's name: it is nobody's business elsewhere."""
    for path, mode in ((entry.path / MANIFEST, 0o644), (entry.binary, 0o755)):
        info = tar.gettarinfo(path, f"{entry.path.name}/{path.name}")
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mode = mode
        with path.open("rb") as content:
            tar.addfile(info, content)


def import_(
    file: Path,
    cache: Path,
    report: Callable[[str], None],
    waiting: Callable[[str], None],
) -> list[Imported]:
    """Take the programs of an archive into the cache: all of them, or on any doubt none."""
    if not file.is_file():
        raise _refusal(file, "there is no such file")
    with exclusive(cache, waiting):
        remove_leftovers(cache)
        with staging(cache, "import") as directory:
            try:
                _unpack(file, directory, report)
            except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise _refusal(file, f"it is damaged or not an archive ({error})") from error
            fresh = [_checked(path, file) for path in sorted(directory.iterdir())]
            if not fresh:
                raise _refusal(file, "it holds no engines")
            return [_take(entry, cache) for entry in fresh]


def _unpack(file: Path, directory: Path, report: Callable[[str], None]) -> None:
    """Write the members ourselves: a name that is not exactly an engine's never becomes a path."""
    with tarfile.open(file, "r:*") as tar:
        for member in tar:
            match = _MEMBER.fullmatch(member.name)
            content = tar.extractfile(member) if member.isreg() else None
            if match is None or content is None or not _belongs(match) or member.size > _LARGEST:
                raise _refusal(file, f'it holds "{member.name}", which is no part of an engine')
            report(match["program"])
            target = directory / match["entry"] / match["file"]
            target.parent.mkdir(exist_ok=True)
            with target.open("wb") as out:
                shutil.copyfileobj(content, out, 1 << 20)
            target.chmod(0o644 if match["file"] == MANIFEST else 0o755)


def _belongs(match: re.Match[str]) -> bool:
    return match["program"] in PROGRAMS and match["file"] in (MANIFEST, match["program"])


def _checked(path: Path, file: Path) -> Entry:
    entry = read_entry(path)
    if entry is None:
        raise _refusal(file, f"{path.name} has no manifest that fits its name")
    made, ours = entry.manifest.pins, pins_of(program(entry.manifest.pins.program))
    if made.platform != ours.platform:
        raise _refusal(file, f"it was built for {made.platform}, and this is {ours.platform}")
    if made != ours:
        raise _refusal(
            file,
            f"its {made.program} has other pins than this trimtab; export it from the same version",
        )
    if not entry.is_whole() or sha256_of(entry.binary) != entry.manifest.sha256:
        raise _refusal(file, f"its {made.program} is not what was built (the checksum differs)")
    return entry


def _take(fresh: Entry, cache: Path) -> Imported:
    name = fresh.manifest.pins.program
    present = read_entry(cache / fresh.path.name)
    if present and present.is_whole():
        return Imported(name, present.binary, new=False)
    return Imported(name, put(fresh.path, fresh.manifest, cache).binary, new=True)


def _refusal(file: Path, reason: str) -> ConfigError:
    return ConfigError(f"{file} was not imported: {reason}; the cache is unchanged")
