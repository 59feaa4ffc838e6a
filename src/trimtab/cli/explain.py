"""`trimtab explain`: why pods were evicted, or why nothing was."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from trimtab.cli.cluster.live import NOWHERE, Live
from trimtab.cli.common.examples import examples

if TYPE_CHECKING:
    from trimtab.model.snapshot import Snapshot

app = App(
    name="explain",
    help="Why pods were evicted, or why nothing was, and the smallest change that would.",
    help_epilogue=examples(
        "trimtab explain now.yaml",
        "trimtab explain --live",
        "trimtab explain --live --kubeconfig F --prometheus http://127.0.0.1:9090 --json",
        "trimtab explain now.yaml --changed after.yaml && trimtab explain after.yaml",
    ),
)


@app.default
def explain(
    snapshot: Path | None = None,
    *,
    live: Annotated[bool, Parameter(negative=())] = False,
    where: Live = NOWHERE,
    everything: Annotated[bool, Parameter(name="--all", negative=())] = False,
    changed: Path | None = None,
    json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> None:
    """Decide a snapshot's cycle as the descheduler does, and say which rule did what.

    Parameters
    ----------
    snapshot
        A file that `trimtab snapshot` wrote, or the name of an example.
    live
        Look at a cluster now instead.
    everything
        Every node and pod, not only the interesting ones.
    changed
        Write the snapshot with the smallest change applied, ready to be explained again.
    json
        Print JSON instead of tables.
    """
    from trimtab.cli.common.output_files import check_file, writing
    from trimtab.errors import ConfigError
    from trimtab.model.snapshot import dump
    from trimtab.truth.explain.explanation import explain as explain_snapshot
    from trimtab.view.explain import show_explanation
    from trimtab.view.terminal import err, show_json

    if changed is not None:
        check_file(changed, "--changed")
    explained = explain_snapshot(_given(snapshot, live, where))
    if changed is not None and explained.found:
        # Before the text: a reader that stops reading (`| head`) must not cost the file.
        with writing(changed, "--changed"):
            dump(explained.found[0].snapshot, changed)
        err.print(f"with the smallest change: {changed}", markup=False)
    if json:
        show_json(explained.explanation)
    else:
        show_explanation(explained.explanation, everything=everything)
    if changed is not None and not explained.found:
        raise ConfigError("--changed: there is no single change to apply")


def _given(file: Path | None, live: bool, where: Live) -> "Snapshot":
    from trimtab.cli.cluster.live import look_at
    from trimtab.errors import ConfigError
    from trimtab.model.examples import example_path
    from trimtab.model.snapshot import load
    from trimtab.view.snapshot import say

    if live == (file is not None):
        raise ConfigError(
            "give the file of a snapshot, or --live; write one: trimtab snapshot -o F"
        )
    if file is not None:
        return load(example_path(file, "snapshots"))
    look = look_at(where)
    for note in look.notes:
        say(f"note: {note}")
    return look.snapshot
