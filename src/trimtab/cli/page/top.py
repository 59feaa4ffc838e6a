"""`trimtab top`: the page's picture in a terminal."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from trimtab.cli.cluster.options import NOWHERE, LookOptions
from trimtab.cli.common.numbers import within
from trimtab.cli.common.output import Flag, examples
from trimtab.errors import ConfigError

app = App(
    name="top",
    help="Nodes, VMs and moves in this terminal, and why.",
    help_epilogue=examples(
        "trimtab top", "trimtab top --lab default", "trimtab top evicts", "trimtab top --once"
    ),
)


@app.default
def top(
    file: Path | None = None,
    *,
    where: LookOptions = NOWHERE,
    every: Annotated[float, Parameter(validator=within(0.5, 3600))] = 2.0,
    once: Flag = False,
    json: Flag = False,
) -> None:
    """Show a lab, a cluster or a file as `trimtab web` does, in this terminal.

    j and k move, Tab switches between nodes and VMs, / searches, Enter says why, m migrates a VM
    after a confirmation, ? lists the keys, q quits.

    Parameters
    ----------
    file
        A snapshot, the name of an example, a recording, the directory of a run, or a feed.
    every
        Seconds between two looks at the cluster; more where a look takes long.
    once
        Print one screen and end; so it is, too, where nobody sits at a terminal.
    json
        Print one picture as JSON and end.
    """
    from trimtab.cli.page.top_screen import show  # the help needs none of it

    if file is not None and where.names_a_cluster:
        raise ConfigError("give a file or a cluster, not both")
    show(file, where, every, once=once, json=json)
