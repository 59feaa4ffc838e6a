"""Recordings become pictures: every moment, and the snapshot at the end."""

import asyncio
from pathlib import Path

import numpy as np

from builders.worlds.recordings import a_recording
from trimtab.model.recorded.archive import write_recording
from trimtab.model.recorded.recording import NOWHERE
from trimtab.web.feed import recordings
from trimtab.web.feed.recordings import pictures_of
from trimtab.web.feed.sources import Seen, file_source


def test_every_moment_has_the_places_and_loads_that_were_recorded() -> None:
    recording = a_recording()
    *moments, (last, snapshot) = pictures_of(recording)
    assert len(moments) == recording.manifest.moments
    assert snapshot is recording.snapshot
    assert last.nodes.keys() == {node.name for node in recording.snapshot.nodes}
    for number, (picture, none) in enumerate(moments):
        assert none is None
        assert picture.at == recording.manifest.start + number * recording.manifest.step_s
        for vm, name in enumerate(recording.manifest.vms):
            place = recording.placement[number, vm]
            if place == NOWHERE:
                assert name not in picture.vms
            else:
                assert picture.vms[name].node == recording.manifest.nodes[place]


def test_a_vm_that_is_elsewhere_than_before_has_moved() -> None:
    recording = a_recording()
    changed = np.diff(recording.placement, axis=0) != 0
    there = (recording.placement[1:] != NOWHERE) & (recording.placement[:-1] != NOWHERE)
    *moments, _ = pictures_of(recording)
    shown = [len(picture.moves) for picture, _ in moments]
    assert shown[1:] == (changed & there).sum(axis=1).tolist()


def test_a_long_recording_is_thinned_out_evenly() -> None:
    recording = a_recording()
    before, recordings.MOST_ENTRIES = recordings.MOST_ENTRIES, recording.placement.size // 3
    try:
        *moments, _ = pictures_of(recording)
    finally:
        recordings.MOST_ENTRIES = before
    steps = np.diff([picture.at for picture, _ in moments])
    assert len(moments) < recording.manifest.moments
    assert len(set(steps.tolist())) == 1
    assert moments[0][0].cluster.notes == ("recorded; one of 3 moments is shown",)


def test_an_archive_is_opened_by_its_name(tmp_path: Path) -> None:
    recording = a_recording()
    write_recording(recording, tmp_path / "my.trimtab")

    async def seen() -> list[Seen]:
        source = file_source(tmp_path / "my.trimtab")
        assert source.explains
        return [each async for each in source.looks()]

    looks = asyncio.run(seen())
    assert len(looks) == recording.manifest.moments + 1
    assert looks[-1].snapshot is not None
