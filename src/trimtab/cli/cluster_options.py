"""The two options by which every command that talks to a cluster is told which one."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Kubeconfig = Annotated[Path | None, Parameter(help="A cluster by its kubeconfig.")]
LabName = Annotated[
    str,
    Parameter(
        env_var="TRIMTAB_LAB",
        help="A lab by its name; otherwise the default lab, or the cluster of this pod.",
    ),
]
