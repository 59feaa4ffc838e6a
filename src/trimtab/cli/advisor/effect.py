"""`trimtab advisor plan --recording`: what a plan would do to a recorded cluster."""

from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.advisor.api import Options
from trimtab.advisor.profiles.load_aware import LoadAware, chosen
from trimtab.cli.advisor.where import as_failure
from trimtab.errors import ConfigError, TrimtabError
from trimtab.view.terminal import out, show_table

if TYPE_CHECKING:
    from trimtab.model.recorded.recording import ClusterRecording
    from trimtab.study.recorded.effect import Effect


def recording_for(path: Path) -> "ClusterRecording":
    """The recording, read before anybody is asked for a plan."""
    from trimtab.model.recorded.archive import read_recording

    try:
        return read_recording(path)
    except ConfigError as error:
        raise as_failure(error) from error


def effect_of(
    recording: "ClusterRecording | None", profile: str, options: Options | None
) -> "Effect | None":
    """What the options would do; None without a recording."""
    if recording is None:
        return None
    if profile != LoadAware.name:
        raise TrimtabError(
            f"--recording: it tells what {LoadAware.name} would do; {profile} moves no VMs"
        )
    from trimtab.cli.record.runs import RUNS, engine_of, simulated
    from trimtab.study.recorded.effect import predicted_effect

    engine, seeds = engine_of(None, None), tuple(range(RUNS))
    try:
        return predicted_effect(
            recording, chosen(options), lambda questions: simulated(questions, seeds, engine)
        )
    except ConfigError as error:
        raise as_failure(error) from error


def show_effect(effect: "Effect | None", json: bool) -> None:
    """The verdict on the recording, the comparison, then the figures; JSON has them already."""
    if effect is None or json:
        return
    out.print()
    out.print(effect.verdict, markup=False)
    out.print(effect.words, markup=False)
    for note in effect.notes:
        out.print(f"Note: {note}.", markup=False)
    right = ["moves a day", "level", "overload h/day"]
    show_table(
        ["predicted", *right],
        [
            [
                line.name,
                f"{line.migrations[0]:.0f} ({line.migrations[1]:.0f}–{line.migrations[2]:.0f})",
                f"{line.level[0]:.1f} ({line.level[1]:.1f}–{line.level[2]:.1f})",
                f"{line.overload[0]:.2f}",
            ]
            for line in effect.lines
        ],
        right=right,
    )
