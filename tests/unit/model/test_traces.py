"""Public trace formats: shares of the allocation, and nothing repaired in silence."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from builders.logs import captured_logs
from trimtab.errors import ConfigError
from trimtab.model.load.curve import Trace
from trimtab.model.load.recording import Recording
from trimtab.model.load.trace_formats import guess_format, read_recording, read_trace
from trimtab.model.scenarios.file import TraceSource

DATA = Path(__file__).parents[4] / "shared" / "data"
HEADER = (
    "Timestamp [ms];\tCPU cores;\tCPU capacity provisioned [MHZ];\tCPU usage [MHZ];\t"
    "CPU usage [%];\tMemory capacity provisioned [KB];\tMemory usage [KB];\t"
    "Disk read throughput [KB/s]\n"
)


def planetlab(folder: Path) -> Path:
    (folder / "b_host").write_text("10\n20\n30\n")
    (folder / "B_host").write_text("1\n2\n3\n")
    (folder / "a_host").write_text("100\n0\n50\n")
    (folder / ".hidden").write_text("not a machine")
    return folder


def bitbrains_row(time: int, percent: float, *, cores: int = 4, memory: int = 500) -> str:
    return f"{time};\t{cores};\t11703.9;\t10.9;\t{percent};\t1000;\t{memory};\t0.5\n"


def bitbrains(folder: Path) -> Path:
    start = 1_376_314_846
    (folder / "1.csv").write_text(
        HEADER
        + bitbrains_row(start, 10)
        + bitbrains_row(start + 300, 20, memory=2000)
        + bitbrains_row(start + 1200, 30, cores=0)  # two slots are missing before it
        + bitbrains_row(start + 1500, 40)
    )
    (folder / "2.csv").write_text(
        HEADER
        + bitbrains_row(start + 450, 50)  # starts later, half a beat off
        + bitbrains_row(start + 749, 60)
        + bitbrains_row(start + 751, 70)  # twice in one slot
    )
    return folder


def table(folder: Path) -> Path:
    path = folder / "day.csv"
    path.write_text(
        "vm,time,cpu,memory,extra\n"
        "web,60,0.2,0.5,x\nweb,0,0.1,0.5,x\ndb,0,1.5,0.9,x\ndb,60,1.25,1.0,x\n"
    )
    return path


def parquet(folder: Path) -> Path:
    polars = pytest.importorskip("polars")
    path = folder / "day.parquet"
    polars.DataFrame(
        {"vm": ["web", "web", "db", "db"], "time": [60, 0, 0, 60], "cpu": [0.2, 0.1, 1.5, 1.25]}
    ).write_parquet(path)
    return path


def npz(folder: Path) -> Path:
    path = folder / "day.npz"
    np.savez(path, names=["a", "b"], cpu_percent=np.array([[10, 20], [30, 40]], dtype=np.uint8))
    return path


def npz_both(folder: Path) -> Path:
    path = folder / "both.npz"
    np.savez(
        path, percent_x100=np.array([[[1000, 500], [2000, 600]]], dtype=np.uint16), interval=60
    )
    return path


@pytest.mark.parametrize(
    ("write", "format", "names", "cpu", "memory", "interval"),
    [
        pytest.param(
            planetlab,
            "planetlab",
            ["B_host", "a_host", "b_host"],
            [[0.01, 0.02, 0.03], [1.0, 0.0, 0.5], [0.1, 0.2, 0.3]],
            None,
            300,
            id="planetlab: machines in the byte order of their names",
        ),
        pytest.param(
            table,
            "table",
            ["db", "web"],
            [[1.5, 1.25], [0.1, 0.2]],
            [[0.9, 1.0], [0.5, 0.5]],
            60,
            id="a table: rows in any order, more than all of the CPU",
        ),
        pytest.param(
            parquet,
            "table",
            ["db", "web"],
            [[1.5, 1.25], [0.1, 0.2]],
            None,
            60,
            id="parquet without memory",
        ),
        pytest.param(npz, "npz", ["a", "b"], [[0.1, 0.2], [0.3, 0.4]], None, 300, id="npz"),
        pytest.param(
            npz_both, "npz", ["1"], [[0.1, 0.2]], [[0.05, 0.06]], 60, id="npz with memory"
        ),
    ],
)
def test_a_format_is_recognised_and_read(
    tmp_path: Path,
    write: Callable[[Path], Path],
    format: str,
    names: list[str],
    cpu: list[list[float]],
    memory: list[list[float]] | None,
    interval: float,
) -> None:
    path = write(tmp_path)
    assert guess_format(path) == format
    recording = read_recording(path)
    assert list(recording.names) == names
    np.testing.assert_allclose(recording.cpu, cpu)
    assert (recording.memory is None) == (memory is None)
    if recording.memory is not None and memory is not None:
        np.testing.assert_allclose(recording.memory, memory)
    assert recording.interval == interval


def test_bitbrains_gaps_and_machines_without_cores_are_repaired_and_counted(tmp_path: Path) -> None:
    recording = read_recording(bitbrains(tmp_path))
    assert recording.names == ("1", "2")
    assert recording.interval == 300
    np.testing.assert_allclose(
        recording.cpu,
        [
            [0.1, 0.2, 0.2, 0.2, 0.0, 0.4],  # held over the gap; idle without cores
            [0.0, 0.0, 0.5, 0.7, 0.0, 0.0],  # nothing before and after; the later of two
        ],
    )
    assert recording.memory is not None
    np.testing.assert_allclose(recording.memory[0], [0.5, 1, 1, 1, 0.5, 0.5])
    assert dict(recording.repairs) == {
        "samples without cores counted as idle": 1,
        "gaps filled with the value before": 2,
        "samples replaced by a later one": 1,
        "samples of memory beyond the allocation cut": 0,
    }


def test_one_bitbrains_file_is_one_machine(tmp_path: Path) -> None:
    path = bitbrains(tmp_path) / "1.csv"
    assert guess_format(path) == "bitbrains"
    assert read_recording(path).names == ("1",)


def test_a_short_planetlab_machine_goes_on_with_its_last_value(tmp_path: Path) -> None:
    (planetlab(tmp_path) / "c_host").write_text("7\n")
    recording = read_recording(tmp_path)
    assert recording.cpu[-1].tolist() == [0.07, 0.07, 0.07]
    assert recording.repairs == {"short machines continued with their last value": 1}


def test_curves_have_the_factor_and_the_limit_and_repairs_are_told(tmp_path: Path) -> None:
    (planetlab(tmp_path) / "Z_host").write_text("40\n")
    with captured_logs() as logs:
        source = TraceSource(file=tmp_path.name, limit=2, cpu_factor=2.0)
        recorded = read_trace(source, tmp_path.parent)
    assert recorded == [
        (Trace((0.02, 0.04, 0.06)), None),
        (Trace((0.8, 0.8, 0.8)), None),
    ]
    assert [log["repairs"] for log in logs] == [
        {"short machines continued with their last value": 1}
    ]


def test_equal_values_are_one_object(tmp_path: Path) -> None:
    ((first, _), (second, _)) = read_trace(TraceSource(file="day.npz"), npz(tmp_path).parent)
    third, _ = read_trace(TraceSource(file="c", format="planetlab"), _constant(tmp_path))[0]
    assert first.values[0] is not second.values[0]
    assert third.values[0] is third.values[1]


def _constant(folder: Path) -> Path:
    (folder / "c").write_text("77\n77\n")
    return folder


def test_times_may_be_dates(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text("vm,time,cpu\na,2026-01-01T00:00:00Z,0.1\na,2026-01-01T00:05:00Z,0.2\n")
    assert read_recording(path).interval == 300


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("day.csv", "vm,time\na,0\n", "the column 'cpu' is missing; a table has vm, time, cpu and"),
        ("day.csv", "vm,time,cpu\n", "the column 'vm' is missing"),
        ("day.csv", "vm,time,cpu\na,0,87\n", "CPU of 'a' leaves 0..16; write shares of the alloc"),
        ("day.csv", "vm,time,cpu\na,0,-1\n", "CPU of 'a' leaves 0..16"),
        ("day.csv", "vm,time,cpu\na,0,nan\n", "CPU of 'a' leaves 0..16"),
        ("day.csv", "vm,time,cpu\na,noon,1\n", "row 2: "),
        ("day.csv", "vm,time,cpu\na,0,\n", "row 2: "),
        ("host", "10\nten\n", "host:2: 'ten' is not a whole percentage"),
        ("host", "", "there is nothing recorded in it; remove the file"),
        ("1.csv", HEADER, "there is nothing recorded in it; remove the file"),
        ("1.csv", "Time;\tCPU\n", "the column 'Timestamp [ms]' is missing; is it a Bitbrains file"),
        ("1.csv", HEADER + "1;\tx\n", "1.csv:2: column 2 is not a number"),
        ("day.npz", "no arrays", "not a file of NumPy arrays"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(
    tmp_path: Path, name: str, content: str, problem: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ConfigError) as caught:
        read_recording(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path))
    assert problem in str(caught.value)


def test_arrays_without_a_recording_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", other=np.zeros(3))
    with pytest.raises(ConfigError, match="neither cpu_percent nor percent_x100"):
        read_recording(tmp_path / "x.npz")


def test_an_empty_directory_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there are no files in it"):
        read_recording(tmp_path)
    with pytest.raises(ConfigError, match="there is no such file or directory"):
        read_recording(tmp_path / "no")


def test_parquet_without_polars_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    (tmp_path / "day.parquet").write_bytes(b"PAR1")
    with pytest.raises(ConfigError, match=r"needs polars; install trimtab\[study\]"):
        read_recording(tmp_path / "day.parquet")


@pytest.mark.parametrize(
    ("day", "machines", "mean", "deviation"),
    [("20110303", 1052, 12.31, 17.09), ("20110420", 1033, 10.43, 15.21)],
)
def test_planetlab_days_have_their_published_statistics(
    day: str, machines: int, mean: float, deviation: float
) -> None:
    recording = _real(f"planetlab-{day}.npz")
    assert recording.cpu.shape == (machines, 288)
    assert list(recording.names) == sorted(recording.names, key=str.encode)
    assert round(float(recording.cpu.mean()) * 100, 2) == mean
    assert round(float(recording.cpu.std()) * 100, 2) == deviation


def test_the_google_day_has_its_known_statistics() -> None:
    recording = _real("google-2011-vms.npz")
    assert recording.cpu.shape == (1600, 288)
    assert round(float(recording.cpu.mean()) * 100, 2) == 21.85
    assert round(float(recording.cpu.std()) * 100, 2) == 13.63
    assert recording.repairs["samples of memory beyond the allocation cut"] == 613


def _real(name: str) -> Recording:
    if not (DATA / name).exists():
        pytest.skip(f"the recording {name} is not beside the project in shared/data")
    return read_recording(DATA / name)
