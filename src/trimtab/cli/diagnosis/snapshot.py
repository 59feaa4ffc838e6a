"""`trimtab snapshot`: one read-only look at a cluster, in a file."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from trimtab.cli.cluster.options import NOWHERE, LookOptions
from trimtab.cli.common.output import Flag, examples
from trimtab.cli.common.output_files import check_file, writing

app = App(
    name="snapshot",
    help="Write what decides a descheduling cycle into a file: nodes, pods, samples, policy.",
    help_epilogue=examples(
        "trimtab snapshot -o now.yaml",
        "trimtab snapshot --kubeconfig ~/.kube/config --prometheus http://127.0.0.1:9090 "
        "-o now.json",
        "trimtab snapshot --context prod --prometheus https://thanos-querier-openshift-monitoring."
        "apps.example.com -o now.yaml",
        "trimtab snapshot --kubeconfig F --policy configmap:kube-system/descheduler "
        "--anonymise -o show.json",
    ),
)


@app.default
def snapshot(
    *,
    output: Annotated[Path, Parameter(name=("--output", "-o"))],
    live: LookOptions = NOWHERE,
    anonymise: Flag = False,
) -> int:
    """Look at a cluster once, without changing anything, and write the snapshot.

    It holds the fields that the descheduler's rules read, the verbatim answer to the policy's
    query, and the policy. No secrets, environments or images are read. `trimtab explain` tells
    what the descheduler makes of it. Exits with 1 if the policy's query gave no sample: the
    file is written, and `explain` tells why nothing would be evicted.

    Parameters
    ----------
    output
        The file; YAML if it ends in .yaml or .yml, otherwise JSON.
    anonymise
        Replace every name by a pseudonym; the decisions stay the same.
    """
    from trimtab.cli.cluster.live import look_at
    from trimtab.model.snapshot import dump
    from trimtab.observe.anonymise import anonymise as hide
    from trimtab.view.explain import show_look

    check_file(output, "--output")
    found = look_at(live)
    shown = hide(found.snapshot) if anonymise else found.snapshot
    with writing(output, "--output"):
        dump(shown, output)
    show_look(found, output, anonymous=anonymise)
    query = found.snapshot.query
    return 1 if query is not None and not query.samples else 0
