"""The reference names every field and every measure, and nothing that is not there."""

import re
from pathlib import Path

from msgspec import structs

from trimtab.sim.spec import Restraint, Timing
from trimtab.study.inputs.file import CandidateGrid, StudyFile
from trimtab.study.results.measures import MEASURES

REFERENCE = (Path(__file__).parents[3] / "docs" / "reference" / "study.md").read_text()


def test_every_field_of_a_study_file_is_in_the_reference() -> None:
    described = set(re.findall(r"^\| `(\w+)` \|", REFERENCE, re.MULTILINE))
    kinds = (StudyFile, CandidateGrid, Restraint, Timing)
    assert described == {f.encode_name for kind in kinds for f in structs.fields(kind)}


def test_every_measure_is_described_as_the_report_does() -> None:
    for measure in MEASURES:
        assert (
            f"| {measure.title} | {measure.unit}{' ' * bool(measure.unit)}| {measure.about} |"
            in (REFERENCE)
        )
