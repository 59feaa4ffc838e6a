"""What the exporter writes into a cluster: VirtualMachines and migrations, nothing else.

The vm-controller and the scheduler do the rest, and have the last word on where a VM goes.
"""

from trimtab.exporter.nodes.cluster import Cluster
from trimtab.exporter.scenario.feedback import Mover
from trimtab.exporter.scenario.loading import Loader
from trimtab.kube.client import Client

LIMIT_S = 30.0
"""How long an answer is kept back for VMs to be placed."""


class Writer:
    """The back end of an exporter with --allow-scenario."""

    def __init__(self, client: Client, cluster: Cluster, limit_s: float = LIMIT_S) -> None:
        self.load = Loader(client, cluster, limit_s).load
        self.migrate = Mover(client, cluster, limit_s).migrate
