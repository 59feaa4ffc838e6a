"""One lab with VMs for all of these tests, and a namespace for each of them."""

from collections.abc import Iterator
from hashlib import sha256

import pytest

from builders.labs.lab import running_lab
from builders.labs.vm import vm_stack
from builders.labs.vmcluster import Cluster, cluster_of
from trimtab.kube.resources import NAMESPACES

SCALE = 15


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Four nodes, fast time, the controller and the webhook."""
    with (
        running_lab(tmp_path_factory, stacks=(vm_stack(),), nodes=4, scale=SCALE) as lab,
        cluster_of(lab) as cluster,
    ):
        yield cluster


@pytest.fixture
def home(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace; what happened to the VMs in it is judged at the end."""
    name = f"t{sha256(request.node.nodeid.encode()).hexdigest()[:10]}"
    yield cluster.new_namespace(name)
    assert cluster.complaints(name) == []
    cluster.call(cluster.client.delete(NAMESPACES, name))
