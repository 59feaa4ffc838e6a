"""Trace files as load curves: a recorded workload becomes the VMs of a scenario.

Equal values share one number object: 100,000 VMs of a day each then take 0.25 GB, not 1 GB.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np

from trimtab.errors import ConfigError
from trimtab.model.load.curve import Trace
from trimtab.model.load.recording import Floats, Recording, checked
from trimtab.model.load.trace_formats import (
    machine_files,
    read_bitbrains,
    read_npz,
    read_planetlab,
    read_table,
)
from trimtab.model.scenarios.expand import Recorded
from trimtab.model.scenarios.file import TraceSource
from trimtab.obs.log import get_logger

Format = Literal["planetlab", "bitbrains", "table", "npz"]
_READERS: dict[Format, Callable[[Path, int | None], Recording]] = {
    "planetlab": read_planetlab,
    "bitbrains": read_bitbrains,
    "table": read_table,
    "npz": read_npz,
}
_DIGITS = 6  # a ten-thousandth of a percent; finer differences are noise of the recording
_log = get_logger(room="model")


def read_trace(source: TraceSource, folder: Path) -> Recorded:
    """CPU and, where recorded, memory of each machine; paths are relative to `folder`."""
    recording = read_recording(folder / source.file, source.format, source.limit)
    repairs = {what: count for what, count in recording.repairs.items() if count}
    if repairs:
        _log.warning("trace repaired", file=source.file, repairs=repairs)
    cpu = _curves(recording.cpu, recording.interval, source.cpu_factor)
    if recording.memory is None:
        return [(curve, None) for curve in cpu]
    return list(zip(cpu, _curves(recording.memory, recording.interval), strict=True))


def read_recording(
    path: Path, format: Literal["auto"] | Format = "auto", limit: int | None = None
) -> Recording:
    """What a trace file or directory holds, checked; `limit` takes the first machines."""
    if not path.exists():
        raise ConfigError(f"{path}: there is no such file or directory")
    try:
        recording = _READERS[guess_format(path) if format == "auto" else format](path, limit)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    return checked(recording, str(path))


def guess_format(path: Path) -> Format:
    """By the name of the file, or the first line of the first one."""
    files = machine_files(path)
    if not files:
        raise ConfigError(f"{path}: there are no files in it")
    if files[0].suffix == ".npz":
        return "npz"
    if files[0].suffix == ".parquet":
        return "table"
    with files[0].open(encoding="utf-8", errors="replace") as lines:
        first = lines.readline()
    if ";" in first:
        return "bitbrains"
    return "table" if "," in first else "planetlab"


def _curves(shares: Floats, interval: float, factor: float = 1.0) -> list[Trace]:
    numbers: dict[float, float] = {}
    rows = (np.round(machine * factor, _DIGITS).tolist() for machine in shares)
    return [Trace(tuple(map(numbers.setdefault, row, row)), interval) for row in rows]
