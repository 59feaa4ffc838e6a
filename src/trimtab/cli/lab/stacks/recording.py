"""`trimtab lab up --recording`: a recorded cluster in the lab, on real parts."""

from pathlib import Path

from trimtab.errors import ConfigError
from trimtab.model.scenarios.scenario import Scenario
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.stacks.loop.projector.policy_file import with_algorithm, with_service_address
from trimtab.view.terminal import err

MOST_COMPRESSED = 1000


def check(
    recording: Path | None, scenario: str | None, compress: float | None, part: int | None
) -> None:
    """Options that belong to --recording come with it, and a scenario does not."""
    if recording is None:
        for option, value in (("--compress", compress), ("--part", part)):
            if value is not None:
                raise ConfigError(f"{option} belongs to --recording FILE")
        return
    if scenario is not None:
        raise ConfigError("--recording has its own nodes and VMs; leave --scenario out")
    if compress is not None and not 1 <= compress <= MOST_COMPRESSED:
        raise ConfigError(f"--compress {compress:g}: must be within 1..{MOST_COMPRESSED}")


def read(file: Path, compress: float | None, part: int | None) -> tuple[Scenario, str]:
    """The recorded cluster as a lab plays it, and its policy with a score that the lab has."""
    from trimtab.model.recorded.archive import read_recording
    from trimtab.study.recorded.lab import lab_scenario
    from trimtab.study.recorded.questions import policy_in_use

    recording = read_recording(file)
    mine = policy_in_use(recording)
    for note in mine.notes:
        err.print(f"note: {note}", markup=False)
    scenario = lab_scenario(recording, _name(file), compress=compress or 1.0, nodes=part)
    try:
        text = with_algorithm(mine.text, mine.score, "--recording")
        return scenario, with_service_address(text, "--recording")
    except ConfigError as error:
        err.print(f"note: the default policy stands for the recorded one ({error})", markup=False)
        return scenario, with_algorithm(DEFAULT_POLICY, mine.score, "--recording")


def _name(file: Path) -> str:
    """The file's name as a label's value."""
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in file.stem.lower())
    return kept.strip("-")[:63].strip("-") or "recording"
