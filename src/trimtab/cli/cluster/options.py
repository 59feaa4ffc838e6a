"""The three options by which every command that talks to a cluster is told which one."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Kubeconfig = Annotated[
    Path | None,
    Parameter(
        show_default=False,
        help="A cluster by its kubeconfig. Without --kubeconfig, --context and --lab: $TRIMTAB_LAB,"
        " $KUBECONFIG, the lab default, ~/.kube/config, the cluster of this pod; the first that is"
        " there.",
    ),
]
Context = Annotated[
    str,
    Parameter(
        show_default=False,
        help="A context of --kubeconfig, or of $KUBECONFIG or ~/.kube/config; otherwise the "
        "current one.",
    ),
]
LabName = Annotated[str, Parameter(show_default=False, help="A lab by its name.")]
