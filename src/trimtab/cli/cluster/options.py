"""The options by which every command that talks to a cluster is told which one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trimtab.cli.cluster.which import Cluster, say, which_cluster

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


@Parameter(name="*")
@dataclass(frozen=True)
class ClusterOptions:
    """--kubeconfig, --context and --lab; groups of commands add their own by inheriting."""

    kubeconfig: Kubeconfig = None
    context: Context = ""
    lab: LabName = ""

    @property
    def names_a_cluster(self) -> bool:
        return bool(self.kubeconfig or self.context or self.lab)

    def cluster(self, *, quietly: bool = False) -> Cluster:
        """The cluster that is meant; said on stderr, because commands may change it."""
        cluster = which_cluster(self.kubeconfig, self.context, self.lab)
        return cluster if quietly else say(cluster)
