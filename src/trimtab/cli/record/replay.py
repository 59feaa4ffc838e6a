"""`trimtab replay`: may answers from this recording be trusted?"""

from pathlib import Path

from cyclopts import App

from trimtab.cli.common.output import Json, emit, examples

app = App(
    name="replay",
    help="Put a recording's own moves through the simulator and compare the nodes' loads.",
    help_epilogue=examples("trimtab replay my.trimtab", "trimtab replay my.trimtab --json"),
)


@app.default
def replay(file: Path, /, *, json: Json = False) -> int:
    """Say how far the simulator is from what was measured, node by node.

    Exits with 1 if the error is so large that what-ifs on this recording are not to be trusted.

    Parameters
    ----------
    file
        A recording, written by `trimtab record`.
    """
    from trimtab.cli.record.lines import show_replay
    from trimtab.model.recorded.archive import read_recording
    from trimtab.study.recorded.replay import replay as run_replay
    from trimtab.view.terminal import progress

    recording = read_recording(file)
    with progress("replay"):
        found = run_replay(recording)
    emit(found, json, show_replay)
    return 0 if found.trusted else 1
