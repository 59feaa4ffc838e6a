"""Readers of the public trace formats; each gives a `Recording`.

PlanetLab and Bitbrains keep a file for each machine; files are taken in the byte order of
their names, which is the order of published results.
"""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np

from trimtab.errors import ConfigError
from trimtab.model.load.curve import Trace
from trimtab.model.load.recording import (
    DEFAULT_INTERVAL_S,
    Floats,
    MachineSamples,
    Recording,
    checked,
    on_a_grid,
)
from trimtab.model.scenarios.expand import Recorded
from trimtab.model.scenarios.file import TraceSource
from trimtab.obs.log import get_logger

_BITBRAINS = {
    "time": "Timestamp [ms]",
    "cores": "CPU cores",
    "cpu": "CPU usage [%]",
    "memory_size": "Memory capacity provisioned [KB]",
    "memory": "Memory usage [KB]",
}
_TABLE = ("vm", "time", "cpu")


def read_planetlab(path: Path, limit: int | None) -> Recording:
    """CoMon's CPU use of PlanetLab's machines: one whole percent per line, every five minutes."""
    files = machine_files(path)[:limit]
    rows = [_percents(file) for file in files]
    length = max(map(len, rows), default=0)
    short = sum(len(row) < length for row in rows)
    cpu = np.array([row + row[-1:] * (length - len(row)) for row in rows], dtype=np.float64) / 100
    return Recording(
        names=tuple(file.name for file in files),
        cpu=cpu.reshape(len(files), length),
        repairs={"short machines continued with their last value": short},
    )


def _percents(file: Path) -> list[int]:
    lines = file.read_text(encoding="ascii", errors="replace").split()
    for number, line in enumerate(lines, start=1):
        if not line.isdecimal():
            raise ConfigError(f"{file}:{number}: {line!r} is not a whole percentage")
    if not lines:
        raise ConfigError(f"{file}: there is nothing recorded in it; remove the file")
    return [int(line) for line in lines]


def read_bitbrains(path: Path, limit: int | None) -> Recording:
    """GWA-T-12: CPU and memory of business VMs. Times are seconds, whatever the header says."""
    machines, off = [], 0
    for file in machine_files(path)[:limit]:
        columns = _bitbrains_columns(file)
        running = columns["cores"] > 0
        has_memory = columns["memory_size"] > 0
        off += int(np.sum(~running))
        cpu = np.where(running, columns["cpu"] / 100, 0.0)
        size = np.where(has_memory, columns["memory_size"], 1.0)
        memory = np.where(has_memory, np.minimum(columns["memory"] / size, 1.0), 0.0)
        machines.append(_in_order(file.stem, columns["time"], np.stack([cpu, memory], axis=1)))
    if not machines:
        raise ConfigError(f"{path}: there are no files in it")
    grid, interval, repairs = on_a_grid(machines)
    return Recording(
        names=tuple(machine.name for machine in machines),
        cpu=grid[:, :, 0],
        memory=grid[:, :, 1],
        interval=interval,
        repairs={"samples without cores counted as idle": off} | repairs,
    )


def _bitbrains_columns(file: Path) -> dict[str, Floats]:
    with file.open(newline="", encoding="utf-8") as lines:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=";") if row]
    header = rows[0] if rows else []
    missing = [title for title in _BITBRAINS.values() if title not in header]
    if missing:
        raise ConfigError(f"{file}: the column {missing[0]!r} is missing; is it a Bitbrains file?")
    if len(rows) < 2:
        raise ConfigError(f"{file}: there is nothing recorded in it; remove the file")
    places = {key: header.index(title) for key, title in _BITBRAINS.items()}
    return {
        key: np.array([_float(row, place, file, 2 + n) for n, row in enumerate(rows[1:])])
        for key, place in places.items()
    }


def _float(row: Sequence[str], place: int, file: Path, line: int) -> float:
    try:
        return float(row[place])
    except (ValueError, IndexError):
        raise ConfigError(f"{file}:{line}: column {place + 1} is not a number") from None


def _in_order(name: str, times: Floats, values: Floats) -> MachineSamples:
    order = np.argsort(times, kind="stable")
    return MachineSamples(name=name, times=times[order], values=values[order])


def read_table(path: Path, limit: int | None) -> Recording:
    """CSV or Parquet with the columns vm, time, cpu and perhaps memory, as shares."""
    rows, has_memory = _parquet(path) if path.suffix == ".parquet" else _csv(path)
    samples: defaultdict[str, list[list[float]]] = defaultdict(list)
    for name, *numbers in rows:
        samples[name].append(numbers)
    names = sorted(samples, key=str.encode)[:limit]
    if not names:
        raise ConfigError(f"{path}: there is nothing recorded in it")
    arrays = [np.array(samples[name], dtype=np.float64) for name in names]
    machines = [_in_order(n, a[:, 0], a[:, 1:]) for n, a in zip(names, arrays, strict=True)]
    grid, interval, repairs = on_a_grid(machines)
    return Recording(
        names=tuple(names),
        cpu=grid[:, :, 0],
        memory=grid[:, :, 1] if has_memory else None,
        interval=interval,
        repairs=repairs,
    )


def _csv(path: Path) -> tuple[Iterator[tuple[str, float, float, float]], bool]:
    with path.open(newline="", encoding="utf-8") as lines:
        table = list(csv.DictReader(lines))
    header = list(table[0]) if table else []
    _require(header, path)
    return _rows(table, path), "memory" in header


def _parquet(path: Path) -> tuple[Iterator[tuple[str, float, float, float]], bool]:
    try:
        import polars
    except ModuleNotFoundError:
        raise ConfigError(
            f"{path}: reading Parquet needs polars; install trimtab[study], or write CSV"
        ) from None
    table = polars.read_parquet(path)
    _require(table.columns, path)
    return _rows(table.iter_rows(named=True), path), "memory" in table.columns


def _require(header: Sequence[str], path: Path) -> None:
    missing = [name for name in _TABLE if name not in header]
    if missing:
        raise ConfigError(
            f"{path}: the column {missing[0]!r} is missing; a table has vm, time, cpu and memory"
        )


def _rows(table: Iterable[dict[str, Any]], path: Path) -> Iterator[tuple[str, float, float, float]]:
    for line, row in enumerate(table, start=2):
        try:
            memory = float(row.get("memory") or 0.0)
            yield str(row["vm"]), _seconds(row["time"]), float(row["cpu"]), memory
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{path}: row {line}: {error}") from error


def _seconds(time: Any) -> float:
    if isinstance(time, datetime):
        return time.timestamp()
    try:
        return float(time)
    except ValueError:
        return datetime.fromisoformat(time).timestamp()


def read_npz(path: Path, limit: int | None) -> Recording:
    """NumPy's arrays: `cpu_percent`, or `percent_x100` with CPU and memory in its last axis."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: np.asarray(file[key]) for key in file.files}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: not a file of NumPy arrays: {error}") from error
    if "cpu_percent" in arrays:
        shares = arrays["cpu_percent"][:limit, :, None] / 100
    elif "percent_x100" in arrays:
        shares = arrays["percent_x100"][:limit] / 10_000
    else:
        raise ConfigError(f"{path}: it holds neither cpu_percent nor percent_x100")
    names = arrays.get("names", np.arange(1, len(shares) + 1))[:limit]
    return Recording(
        names=tuple(map(str, names)),
        cpu=shares[:, :, 0],
        memory=shares[:, :, 1] if shares.shape[2] > 1 else None,
        interval=float(arrays.get("interval", np.float64(DEFAULT_INTERVAL_S))),
    )


def machine_files(path: Path) -> list[Path]:
    """The file itself, or all files of a directory in the byte order of their names."""
    if path.is_file():
        return [path]
    files = [file for file in path.iterdir() if file.is_file() and not file.name.startswith(".")]
    return sorted(files, key=lambda file: file.name.encode())


# Trace files as load curves: a recorded workload becomes the VMs of a scenario.
#
# Equal values share one number object: 100,000 VMs of a day each then take 0.25 GB, not 1 GB.
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
