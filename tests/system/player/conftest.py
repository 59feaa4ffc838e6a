"""One lab with KubeVirt for all tests that can share it; each begins without VMs."""

from collections.abc import Iterator

import pytest

from builders.labs.audit import audit_stack
from builders.labs.kubevirt import KubevirtLab, running_kubevirt


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubevirtLab]:
    audit = (audit_stack(),)
    with running_kubevirt(tmp_path_factory, beside=audit, nodes=3, scale=10) as kubevirt:
        yield kubevirt


@pytest.fixture
def kubevirt(shared: KubevirtLab) -> KubevirtLab:
    shared.lab.await_ready()
    shared.delete_all()
    return shared
