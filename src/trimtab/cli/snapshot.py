"""`trimtab snapshot`: one read-only look at a cluster, in a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from trimtab.cli.examples import examples
from trimtab.cli.live import NOWHERE, Live

if TYPE_CHECKING:
    pass

app = App(
    name="snapshot",
    help="Write what decides a descheduling cycle into a file: nodes, pods, samples, policy.",
    help_epilogue=examples(
        "trimtab snapshot -o now.yaml",
        "trimtab snapshot --kubeconfig ~/.kube/config --prometheus http://127.0.0.1:9090 "
        "-o now.json",
        "trimtab snapshot --kubeconfig F --policy configmap:kube-system/descheduler "
        "--anonymise -o show.json",
    ),
)


@app.default
def snapshot(
    *,
    output: Annotated[Path, Parameter(name=("--output", "-o"))],
    live: Live = NOWHERE,
    anonymise: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Look at a cluster once, without changing anything, and write the snapshot.

    It holds the fields that the descheduler's rules read, the verbatim answer to the policy's
    query, and the policy. No secrets, environments or images are read. `trimtab explain` tells
    what the descheduler makes of it.

    Parameters
    ----------
    output
        The file; YAML if it ends in .yaml or .yml, otherwise JSON.
    anonymise
        Replace every name by a pseudonym; the decisions stay the same.
    """
    from trimtab.cli.live import look_at
    from trimtab.errors import ConfigError
    from trimtab.model.snapshot import dump
    from trimtab.observe.anonymise import anonymise as hide
    from trimtab.view.snapshot import show_look

    found = look_at(live)
    shown = hide(found.snapshot) if anonymise else found.snapshot
    try:
        dump(shown, output)
    except OSError as error:
        raise ConfigError(f"--output {output}: {error.strerror}") from error
    show_look(found, output, anonymous=anonymise)
