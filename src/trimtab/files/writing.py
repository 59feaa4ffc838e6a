"""Files that a reader, or a kill, never finds half written; private ones are 0600 from the start.

A file beside the target is written first and takes its place in one step.
"""

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, data: str | bytes, mode: int = 0o644) -> None:
    """Write a file so that others see the old or the new text, never a part."""
    content = data.encode() if isinstance(data, str) else data
    # mkstemp makes files 0600: one that becomes private was never readable by others.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_private(path: Path, data: str | bytes) -> bool:
    """Write a file of mode 0600 whole; False if it had this content already."""
    content = data.encode() if isinstance(data, str) else data
    if path.exists() and path.read_bytes() == content:
        return False
    write_whole(path, content, 0o600)
    return True


def make_private_dir(path: Path) -> None:
    """A directory that only its owner can enter, parents included where they are made."""
    for missing in reversed([p for p in (path, *path.parents) if not p.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    path.chmod(0o700)
