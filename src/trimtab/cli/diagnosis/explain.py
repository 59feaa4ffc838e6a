"""`trimtab explain`: why pods were evicted, or why nothing was."""

from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from trimtab.cli.cluster.options import NOWHERE, LookOptions
from trimtab.cli.common.output import Flag, Json, emit, examples
from trimtab.cli.common.output_files import check_file, writing
from trimtab.errors import ConfigError

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
    live: Flag = False,
    where: LookOptions = NOWHERE,
    everything: Annotated[bool, Parameter(name="--all", negative=())] = False,
    changed: Path | None = None,
    json: Json = False,
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
    """
    from trimtab.cli.cluster.live import snapshot_of
    from trimtab.model.snapshot import dump
    from trimtab.truth.explain.explanation import explain as explain_snapshot
    from trimtab.view.explain import show_explanation
    from trimtab.view.terminal import err

    if changed is not None:
        check_file(changed, "--changed")
    explained = explain_snapshot(snapshot_of(snapshot, live, where))
    if changed is not None and explained.found:
        # Before the text: a reader that stops reading (`| head`) must not cost the file.
        with writing(changed, "--changed"):
            dump(explained.found[0].snapshot, changed)
        err.print(f"with the smallest change: {changed}", markup=False)
    emit(explained.explanation, json, partial(show_explanation, everything=everything))
    if changed is not None and not explained.found:
        raise ConfigError("--changed: there is no single change to apply")
