"""What the exporter writes into a cluster: VirtualMachines and migrations, nothing else.

The vm-controller or KubeVirt, and the scheduler, do the rest, and have the last word on where a
VM goes.
"""

from trimtab.exporter.nodes.cluster import ClusterFollower
from trimtab.exporter.scenario.feedback import Mover
from trimtab.exporter.scenario.loading import Loader
from trimtab.kube.client import Client
from trimtab.kube.worlds import World

LIMITS_S: dict[World, float] = {"trimtab": 30.0, "kubevirt": 120.0}
"""How long an answer is kept back for VMs to be placed; KubeVirt has delays of its own."""


class Writer:
    """The back end of an exporter with --allow-scenario."""

    def __init__(self, client: Client, cluster: ClusterFollower) -> None:
        limit_s = LIMITS_S[cluster.world]
        self.load = Loader(client, cluster, limit_s).load
        self.migrate = Mover(client, cluster, limit_s).migrate
