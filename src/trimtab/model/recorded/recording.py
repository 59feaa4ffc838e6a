"""What `trimtab record` keeps of a cluster: objects, loads over time, and what was repaired.

All tables share one grid of moments; the value at a moment is the mean over the step before it
(of memory: the value at the moment). NaN marks what is not known. Names of nodes and VMs are in
the manifest, in the order of the tables' columns.
"""

from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.model.snapshot import Snapshot

Loads = NDArray[np.float32]
Places = NDArray[np.int32]
NOWHERE = -1
"""In `placement`: the VM did not run."""
FORMAT = "trimtab.dev/recording/v1"
RequestedBy = Literal["", "eviction", "update", "balancer"]
"""Who wanted a migration: a drain or a descheduler by evicting the pod, an update of KubeVirt, the
balancer; empty where its object does not tell, as with those that people ask for."""
_FINISHED = frozenset(("Succeeded", "Failed", "Cancelled"))


class Finding(Struct, frozen=True, rename="camel"):
    """Something that was repaired or is missing, how often, and what that means for answers."""

    what: str
    count: int
    meaning: str


class LoadSource(Struct, frozen=True, rename="camel"):
    """Where a table comes from; `query` is exactly what Prometheus was asked, if it was."""

    table: str
    source: str
    query: str = ""


class RecordedMigration(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A migration as its object told it; times are in seconds since 1970."""

    vm: str
    """`namespace/name`; it may be gone."""
    asked: float
    """When the object was created."""
    begun: float | None = None
    """When the copy began; None if it did not, or if nothing tells."""
    ended: float | None = None
    """None if it is under way, or if nothing tells."""
    source: str = ""
    target: str = ""
    """Nodes; empty where nothing tells."""
    phase: str = ""
    """In the words of the cluster: Succeeded, Failed, Cancelled; any other is under way."""
    by: RequestedBy = ""

    @property
    def finished(self) -> bool:
        return self.phase in _FINISHED


class Manifest(Struct, frozen=True, kw_only=True, rename="camel"):
    """The archive's first file."""

    format: Literal["trimtab.dev/recording/v1"] = "trimtab.dev/recording/v1"
    versions: dict[str, str] = {}
    start: float
    """The first moment, in seconds since 1970."""
    step_s: float
    moments: int
    scale: float = 1.0
    """How many seconds of the cluster's own time passed in each: a lab's may go faster."""
    nodes: tuple[str, ...]
    vms: tuple[str, ...]
    """`namespace/name` each."""
    migrations: tuple[RecordedMigration, ...] = ()
    """Those of the period that were still there when the recording began, by `asked`."""
    sources: tuple[LoadSource, ...] = ()
    parameters: dict[str, str] = {}
    """What was sent beside each query."""
    findings: tuple[Finding, ...] = ()
    anonymous: bool = False
    jitter: float = 0.0
    """How far the load of a VM may be from what was measured, as a share."""
    files: dict[str, str] = {}
    """SHA-256 of every other file of the archive."""


class ClusterRecording(Struct, frozen=True, kw_only=True, eq=False):
    """A cluster over some time."""

    manifest: Manifest
    snapshot: Snapshot
    vm_cpu: Loads
    """(moments, vms) cores used"""
    vm_delay: Loads
    """(moments, vms) cores that the VM wanted and did not get; NaN where no source tells"""
    vm_memory: Loads
    """(moments, vms) bytes of the node's memory"""
    placement: Places
    """(moments, vms) number of the node, or NOWHERE"""
    node_cpu: Loads
    """(moments, nodes) cores used by everything on the node; NaN where no source tells"""
    node_memory: Loads

    @property
    def demand(self) -> Loads:
        """(moments, vms) cores used and waited for."""
        return np.asarray(self.vm_cpu + np.nan_to_num(self.vm_delay), dtype=np.float32)

    @property
    def own_step_s(self) -> float:
        """Between two moments, in the cluster's own time, which is also that of its rules."""
        return self.manifest.step_s * self.manifest.scale

    @property
    def duration_s(self) -> float:
        """In the cluster's own time."""
        return self.manifest.moments * self.own_step_s

    def vms_on_nodes(self, load: Loads) -> Loads:
        """(moments, nodes) the sum of the VMs' loads on each node; unknown ones count as 0."""
        moments, nodes = len(load), len(self.manifest.nodes)
        sums = np.zeros((moments, nodes + 1))
        rows = np.arange(moments)
        for vm in range(load.shape[1]):  # NOWHERE counts into the last column, which is dropped
            sums[rows, self.placement[:, vm]] += np.nan_to_num(load[:, vm])
        return np.asarray(sums[:, :nodes], dtype=np.float32)
