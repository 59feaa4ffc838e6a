"""The files of an answer: what won in the words of those who can apply it, and the page."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trimtab.cli.common.output_files import writing
from trimtab.files.writing import write_whole
from trimtab.view.terminal import err

if TYPE_CHECKING:
    from trimtab.sim.spec import RunSpec
    from trimtab.study.recorded.answer import WhatifAnswer
    from trimtab.study.recorded.questions import PolicyInUse


def write_files(
    out: Path, recording: Path, answer: "WhatifAnswer", mine: "PolicyInUse", winner: "RunSpec"
) -> None:
    """answer.json and what won as files, and how to go on with them."""
    from trimtab.study.recorded.answer import MINE
    from trimtab.study.recorded.outputs import (
        kubedescheduler_patch,
        platform_config,
        winning_policy,
    )

    files = {
        "answer.json": msgspec.json.format(msgspec.json.encode(answer), indent=2).decode(),
        "policy.yaml": winning_policy(mine, winner),
        "kubedescheduler-patch.yaml": kubedescheduler_patch(mine, winner) or "",
        "virtplatformconfig.yaml": platform_config(mine, winner) or "",
    }
    with writing(out, "--out"):
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            if text:
                write_whole(out / name, text)
            else:
                (out / name).unlink(missing_ok=True)  # of an earlier answer
    there = [name for name, text in files.items() if text]
    err.print(f"written to {out}: {', '.join(there)}")
    if answer.winner != MINE:  # else there is nothing to apply: the files hold what is there
        _say_how_to_apply(out, recording, there)


def _say_how_to_apply(out: Path, recording: Path, there: list[str]) -> None:
    patched = "kubedescheduler-patch.yaml" in there
    if patched:
        err.print(
            "apply it: oc -n openshift-kube-descheduler-operator patch kubedescheduler cluster "
            f"--type merge --patch-file {out / 'kubedescheduler-patch.yaml'}",
            markup=False,
        )
    if "virtplatformconfig.yaml" in there:
        err.print(
            f"{'or ' if patched else ''}preview it: trimtab advisor plan -f "
            f"{out / 'virtplatformconfig.yaml'} --recording {recording}",
            markup=False,
        )


def write_pages(pages: list[Path], text: str) -> None:
    """The same page in each place."""
    for path in pages:
        with writing(path, "--report"):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
        err.print(f"open it in a browser: {path.resolve().as_uri()}", markup=False)
