"""One lab with VMs for all tests that start balancers themselves; each leaves it level."""

from collections.abc import Iterator

import pytest

from builders.labs.balancer import account_stack
from builders.labs.lab import running_lab
from builders.labs.vm import vm_stack
from builders.labs.vmcluster import Cluster, cluster_of


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Six nodes, fast time, VMs, the balancer's rights and nobody who uses them."""
    stacks = (vm_stack(), account_stack())
    with (
        running_lab(tmp_path_factory, stacks=stacks, nodes=6, scale=15) as lab,
        cluster_of(lab) as cluster,
    ):
        yield cluster
