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

from trimtab.engines import pages
from trimtab.engines.cache import (
    MANIFEST,
    CacheEntry,
    find,
    program,
    put,
    read_entry,
    remove_leftovers,
    sha256_of,
    staging,
)
from trimtab.engines.lock import exclusive
from trimtab.engines.pins import pins_of
from trimtab.engines.programs import PROGRAMS, Program, chosen
from trimtab.errors import ConfigError, NotReady, TrimtabError

_MEMBER = re.compile(r"(?P<entry>(?P<program>[a-z-]+)-[0-9a-f]{16})/(?P<file>[a-z.-]+)")
_PAGE = re.compile(rf"{pages.NAME}/({re.escape(MANIFEST)}|static(/[\w@-][\w@.-]*)+)")
"""A part of a page's path never begins with a dot, so none leads upwards."""
_DAMAGED = (
    tarfile.TarError,
    EOFError,
    zlib.error,
    gzip.BadGzipFile,
    FileExistsError,  # a name that is a file and a directory
    NotADirectoryError,
)
_LARGEST = 1 << 30  # the largest engine has 105 MB


class Imported(Struct, frozen=True):
    """`new` is False if the same program was there already."""

    program: str
    path: Path
    new: bool


def export(
    file: Path, names: Sequence[str], cache: Path, report: Callable[[str], None]
) -> list[str]:
    """Write what is built to `file`; gzipped if it is named so.

    Without names this is what every lab needs, and whatever else is built.
    """
    with_pages = pages.NAME in names if names else pages.are_made(cache)
    wanted = [name for name in names if name != pages.NAME]
    found = [_needed(each, cache) for each in chosen(wanted)] if wanted or not names else []
    if not names:
        optional = (find(each.name, cache) for each in PROGRAMS.values() if each.is_optional)
        found += [entry for entry in optional if entry]
    if with_pages:
        _check_pages(cache)
    try:
        with tempfile.TemporaryDirectory(prefix=".trimtab-", dir=file.absolute().parent) as aside:
            partial = Path(aside) / file.name
            with _open_for_writing(partial) as tar:
                for entry in found:
                    report(entry.manifest.pins.program)
                    _add(tar, entry)
                if with_pages:
                    report(pages.NAME)
                    _add_pages(tar, cache)
            partial.replace(file)
    except OSError as error:
        reason = f"{file} cannot be written: {error.strerror}; choose another place"
        raise TrimtabError(reason) from error
    return [entry.manifest.pins.program for entry in found] + [pages.NAME] * with_pages


def _check_pages(cache: Path) -> None:
    again = f"run: trimtab engines build --force {pages.NAME}"
    if not pages.are_made(cache):
        raise NotReady(f"{pages.NAME} is not made; run: trimtab engines build {pages.NAME}")
    made = pages.read_manifest(pages.manifest_path(cache))
    if fault := pages.pages_fault(pages.pages_dir(cache), made):
        raise NotReady(f"{pages.NAME}: the pages {fault}; {again}")


def _needed(wanted: Program, cache: Path) -> CacheEntry:
    entry = find(wanted.name, cache)
    if entry is None:
        raise NotReady(f"{wanted.name} is not built; run: {wanted.how_to_build}")
    return entry


def _open_for_writing(file: Path) -> tarfile.TarFile:
    if file.name.endswith((".gz", ".tgz")):
        return tarfile.open(file, "w:gz", compresslevel=3)
    return tarfile.open(file, "w")


def _add(tar: tarfile.TarFile, entry: CacheEntry) -> None:
    """The manifest first, without the owner's name, which is private."""
    for path, mode in ((entry.path / MANIFEST, 0o644), (entry.binary, 0o755)):
        _add_file(tar, path, f"{entry.path.name}/{path.name}", mode)


def _add_pages(tar: tarfile.TarFile, cache: Path) -> None:
    manifest, static = pages.manifest_path(cache), pages.pages_dir(cache)
    _add_file(tar, manifest, f"{pages.NAME}/{MANIFEST}", 0o644)
    for path in sorted(path for path in static.rglob("*") if path.is_file()):
        _add_file(tar, path, f"{pages.NAME}/static/{path.relative_to(static)}", 0o644)


def _add_file(tar: tarfile.TarFile, path: Path, name: str, mode: int) -> None:
    info = tar.gettarinfo(path, name)
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
            except _DAMAGED as error:
                raise _refusal(file, f"it is damaged or not an archive ({error})") from error
            web = directory / pages.NAME
            programs = [path for path in sorted(directory.iterdir()) if path != web]
            fresh = [_checked(path, file) for path in programs]
            made = _checked_pages(web, file) if web.exists() else None
            if not fresh and made is None:
                raise _refusal(file, "it holds no engines")
            taken = [_take(entry, cache) for entry in fresh]
            return taken if made is None else [*taken, _take_pages(web, made, cache)]


def _unpack(file: Path, directory: Path, report: Callable[[str], None]) -> None:
    """Write the members ourselves: a name that is not exactly an engine's never becomes a path."""
    with tarfile.open(file, "r:*") as tar:
        for member in tar:
            name = _program_of(member.name)
            content = tar.extractfile(member) if member.isreg() else None
            if name is None or content is None or member.size > _LARGEST:
                raise _refusal(file, f'it holds "{member.name}", which is no part of an engine')
            report(name)
            target = directory / member.name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as out:
                shutil.copyfileobj(content, out, 1 << 20)
            target.chmod(0o755 if target.name == name else 0o644)


def _program_of(member: str) -> str | None:
    """The program that a member of that name belongs to; None if it belongs to none."""
    if _PAGE.fullmatch(member):
        return pages.NAME
    match = _MEMBER.fullmatch(member)
    if match is None or match["program"] not in PROGRAMS:
        return None
    return match["program"] if match["file"] in (MANIFEST, match["program"]) else None


def _checked(path: Path, file: Path) -> CacheEntry:
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


def _checked_pages(web: Path, file: Path) -> pages.PagesManifest:
    made = pages.read_manifest(web / MANIFEST)
    fault = pages.pages_fault(web / "static", made)
    if made is None or fault:
        raise _refusal(file, f"its pages of Prometheus {fault}")
    return made


def _take_pages(web: Path, made: pages.PagesManifest, cache: Path) -> Imported:
    place, known = pages.pages_dir(cache), pages.read_manifest(pages.manifest_path(cache))
    if known and known.files == made.files and pages.pages_fault(place, known) is None:
        return Imported(pages.NAME, place, new=False)
    pages.put_pages(web / "static", made, cache, aside=web)
    return Imported(pages.NAME, place, new=True)


def _take(fresh: CacheEntry, cache: Path) -> Imported:
    name = fresh.manifest.pins.program
    present = read_entry(cache / fresh.path.name)
    if present and present.is_whole():
        return Imported(name, present.binary, new=False)
    return Imported(name, put(fresh.path, fresh.manifest, cache).binary, new=True)


def _refusal(file: Path, reason: str) -> ConfigError:
    return ConfigError(f"{file} was not imported: {reason}; the cache is unchanged")
