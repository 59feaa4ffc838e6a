"""One API server with our kinds and OpenShift's stand-ins; each test leaves no config behind."""

from collections.abc import Iterator

import pytest

from builders.labs.advisor import Kubectl, advisor_cluster
from conformance.apiserver import ApiServer


@pytest.fixture(scope="package")
def cluster() -> Iterator[Kubectl]:
    with advisor_cluster() as kubectl:
        yield kubectl


@pytest.fixture(scope="package")
def server(cluster: Kubectl) -> ApiServer:
    return cluster.server
