"""`trimtab scenario`: check, look at, convert and describe scenario files."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from cyclopts import App

from trimtab.cli.common.output import Flag, Json, OutputFile, emit, examples
from trimtab.cli.common.output_files import check_file, writing
from trimtab.model.duration import format_duration
from trimtab.model.examples import example_or_file
from trimtab.model.scenarios.io import dump, findings, load_file, load_scenario
from trimtab.model.scenarios.reference import schema_text
from trimtab.model.scenarios.scenario import ScenarioEvent
from trimtab.model.scenarios.summary import NodeAtStart, Summary, VmsAlike, summarise
from trimtab.model.scenarios.written import as_file
from trimtab.obs.log import configure
from trimtab.view.tables.pictures import Bar
from trimtab.view.terminal import err, out, show_json, show_table

app = App(name="scenario", help="Check, look at and convert scenario files.")

_LEVELS = "▁▂▃▄▅▆▇█"


@app.command(
    help_epilogue=examples(
        "trimtab scenario validate examples/scenarios/*", "trimtab scenario validate --json my.yaml"
    )
)
def validate(file: str, /, *more: str, json: Json = False) -> int:
    """Find everything that is wrong with scenario files; exit with 2 if anything is.

    Warnings tell what will hardly happen as it was meant; they do not change the exit code.

    Parameters
    ----------
    file
        A scenario file, or file.json#name for one of several scenarios in a file.
    more
        Further files.
    """
    _log_to_stderr()
    found = {path: list(findings(_example(path))) for path in (file, *more)}
    if json:
        show_json(found)
    else:
        for path, each in found.items():
            for finding in each:
                print(f"{path}: {finding.level}: {finding.text}")
            if not any(finding.level == "error" for finding in each):
                print(f"{path}: fine")
    return 2 if any(finding.level == "error" for each in found.values() for finding in each) else 0


@app.command(
    help_epilogue=examples(
        "trimtab scenario show examples/scenarios/one-hot-node.yaml",
        "trimtab scenario show examples/scenarios/classic-sample.json#level --json",
    )
)
def show(file: str, /, *, json: Json = False) -> None:
    """Show a scenario's nodes with their load at the start, and its VMs with theirs over time.

    Parameters
    ----------
    file
        A scenario file, or file.json#name for one of several scenarios in a file.
    """
    _log_to_stderr()
    summary = summarise(load_scenario(_example(file)))
    emit(summary, json, _show)


@app.command(
    help_epilogue=examples(
        "trimtab scenario convert old.json#mixed -o mixed.yaml",
        "trimtab scenario convert my.yaml --expand | less",
    )
)
def convert(
    file: str,
    /,
    *,
    output: OutputFile = None,
    expand: Flag = False,
) -> None:
    """Write a scenario as YAML: node-classifier-sim's JSON in our format, or groups as single VMs.

    Parameters
    ----------
    file
        A scenario file, or file.json#name for one of several scenarios in a file.
    output
        Where to write it; without it, to the terminal.
    expand
        Write every node and VM by name, with numbers drawn and traces read.
    """
    _log_to_stderr()
    if output is not None:
        check_file(output, "--output")
    path = _example(file)
    scenario = load_scenario(path)  # what cannot be used is not worth writing
    text = dump(as_file(scenario) if expand else load_file(path))
    if output is None:
        print(text, end="")
    else:
        with writing(output, "--output"):
            output.write_text(text, encoding="utf-8")
        err.print(f"written to {output}", markup=False)


@app.command(help_epilogue=examples("trimtab scenario schema > scenario.schema.json"))
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors that check while you type."""
    print(schema_text(), end="")


def _log_to_stderr() -> None:
    configure("warning")


def _example(file: str) -> str:
    return example_or_file(file, "scenarios")


def _show(summary: Summary) -> None:
    count = sum(vms.count for vms in summary.vms)
    lasts = format_duration(summary.duration_s)
    out.print(f"{summary.name}: {summary.description}", markup=False)
    out.print(f"{lasts}, {len(summary.nodes)} nodes, {count} VMs")
    out.print(f"CPU of the cluster     {_line(summary.cpu_use)}")
    out.print(f"memory of the cluster  {_line(summary.memory_use)}\n")
    show_table(
        ["node", "cores", "memory", "VMs", "CPU use", "", "memory use", " ", "CPU PSI", "mem PSI"],
        [_node_row(node) for node in summary.nodes],
        right=["cores", "memory", "VMs", "CPU use", "memory use", "CPU PSI", "mem PSI"],
        drop=["", " ", "mem PSI", "CPU PSI", "cores", "memory"],
    )
    if summary.unplaced:
        out.print(f"and {summary.unplaced} VMs where the scheduler puts them")
    out.print()
    over_time = f"CPU over {lasts}"
    show_table(
        ["VMs", "count", "cores each", "memory each", "starts on", over_time, "memory use"],
        [_vms_row(vms) for vms in summary.vms],
        right=["count", "cores each", "memory each"],
        whole=[over_time],
        drop=["cores each", "memory each"],
    )
    for line in _event_lines(summary.events):
        out.print(line, markup=False)


def _node_row(node: NodeAtStart) -> tuple[object, ...]:
    cpu = _percent(node.cpu_use), Bar(node.cpu_use, widest=11)
    memory = _percent(node.memory_use), Bar(node.memory_use, widest=11)
    pressures = f"{node.cpu_pressure:.2f}", f"{node.memory_pressure:.2f}"
    return node.name, node.cpu, node.memory, node.vms, *cpu, *memory, *pressures


def _vms_row(vms: VmsAlike) -> tuple[object, ...]:
    curves = _line(vms.cpu_use), _line(vms.memory_use)
    return vms.name, vms.count, vms.cpu, vms.memory, vms.node or "-", *curves


def _event_lines(events: Sequence[ScenarioEvent]) -> Iterator[str]:
    """What happens at a moment on one line, however many VMs it happens to."""
    for (at, what), group in groupby(events, key=lambda event: (event.at, event.what)):
        names = [event.name for event in group]
        shown = " ".join(names) if len(names) < 4 else f"{names[0]} … {names[-1]} ({len(names)})"
        yield f"at {format_duration(at)}: {what} {shown}"


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _line(shares: Sequence[float]) -> str:
    """A sparkline from 0 to 100 % (or to the largest value above it), and the mean."""
    top = max(1.0, *shares)
    cells = (_LEVELS[min(int(share / top * 8), 7)] for share in shares)
    return f"{''.join(cells)} {_percent(sum(shares) / len(shares))}"
