"""One archive with what a bug report needs: logs, status, versions, plan. No keys, no tokens."""

import io
import platform
import tarfile
import time
from pathlib import Path

import msgspec

from trimtab.lab.files.layout import LabDir
from trimtab.lab.inspection import look

# named one by one: whatever a stack puts into the directory stays out unless it is a log
_FILES = ("lab.json", "plan.json", "config/scheduler.yaml", "config/kwok.yaml")


def write_bundle(lab: LabDir, target: Path) -> None:
    """Write the archive; everything in it is below one directory."""
    top = f"trimtab-lab-{lab.name}"
    with tarfile.open(target, "w:gz") as archive:
        for name in _FILES:
            if (lab.path / name).exists():
                archive.add(lab.path / name, f"{top}/{name}")
        for log in sorted(lab.logs.glob("*.log*")):
            archive.add(log, f"{top}/logs/{log.name}")
        status = msgspec.json.format(msgspec.json.encode(look(lab)))
        _add(archive, f"{top}/status.json", status)
        _add(archive, f"{top}/host.txt", f"{platform.platform()}\n".encode())


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime = len(data), int(time.time())
    archive.addfile(entry, io.BytesIO(data))
