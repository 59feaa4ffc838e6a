"""One API server for all tests here; each finds the cluster as it was installed.

A test may leave nodes and records in the middle of things: afterwards everything that plans read
or write is deleted and made anew.
"""

from collections.abc import Iterator

import pytest

from builders.labs.advisor import (
    DENSITY,
    DESCHEDULER_HOME,
    EXAMPLE,
    LOAD_AWARE,
    Kubectl,
    OperatorProcess,
    advisor_cluster,
    apply_baseline,
    operator,
)
from builders.waiting import wait_until
from trimtab.install.advisor.admission import policies

ADVERTISED = (LOAD_AWARE, DENSITY)


@pytest.fixture(scope="package")
def cluster() -> Iterator[Kubectl]:
    with advisor_cluster("5.32") as kubectl:
        kubectl.put(*policies())
        wait_until(lambda: kubectl.is_policed(EXAMPLE), "the policies are not in force")
        yield kubectl


@pytest.fixture
def unattended(cluster: Kubectl) -> Iterator[Kubectl]:
    """No operator: the tests start their own."""
    cluster.clear("lease", "trimtab-system")
    yield cluster
    cluster.clear("virtplatformconfig")
    put_back(cluster)


@pytest.fixture(scope="module")
def running(cluster: Kubectl) -> Iterator[OperatorProcess]:
    """One operator for a file: all it knows it reads from the API at the moment it decides."""
    cluster.clear("lease", "trimtab-system")
    with operator(cluster.server) as process:
        yield process
    cluster.clear("virtplatformconfig")


@pytest.fixture
def attended(cluster: Kubectl, running: OperatorProcess) -> Iterator[Kubectl]:
    """With an operator that has advertised its profiles."""
    for name in ADVERTISED:
        await_advertised(cluster, name)
    yield cluster
    assert running.alive, running.log.read_text()[-3000:]
    for config in cluster.all("virtplatformconfig"):  # so that nobody writes while it is put back
        cluster.act(config["metadata"]["name"], action="Ignore")
        cluster.await_phase(config["metadata"]["name"], "Ignored")
    put_back(cluster)
    for name in ADVERTISED:
        old = cluster.config(name)["metadata"]["uid"]
        cluster.forget(name)
        await_advertised(cluster, name, after=old)


def await_advertised(kubectl: Kubectl, name: str, after: str = "") -> None:
    """Return once the profile is there, and not the object that was deleted."""

    def is_there() -> bool:
        if not kubectl.exists("virtplatformconfig", name):
            return False
        return bool(kubectl.config(name)["metadata"]["uid"] != after)

    wait_until(is_there, f"{name} is not advertised")
    kubectl.await_phase(name, "Ignored")


def put_back(kubectl: Kubectl) -> None:
    """Records, targets and pools as they were before anybody planned."""
    kubectl.clear("secret", "trimtab-system")
    kubectl.clear("configmap", "openshift-cnv")
    kubectl.clear("kubedescheduler", DESCHEDULER_HOME)
    kubectl.clear("hyperconverged", "openshift-cnv")
    kubectl.clear("machineconfigpool")
    kubectl.clear("machineconfig")
    apply_baseline(kubectl)
