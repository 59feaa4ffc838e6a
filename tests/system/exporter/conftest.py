"""One lab with VMs and an exporter that may write, for all tests of this folder."""

from collections.abc import Iterator

import pytest

from builders.labs.exporter import exporter_stack
from builders.labs.exporter_http import Endpoint
from builders.labs.lab import RunningLab, running_lab
from builders.labs.vm import vm_stack


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningLab]:
    stacks = (vm_stack(), exporter_stack("--node-exporter", allow_scenario=True))
    with running_lab(tmp_path_factory, name="exporter", stacks=stacks, nodes=3, scale=15) as lab:
        yield lab


@pytest.fixture
def exporter(lab: RunningLab) -> Iterator[Endpoint]:
    """With a cluster that has no VMs of a scenario."""
    endpoint = Endpoint(lab.urls["exporter"])
    with endpoint.http:
        emptied = endpoint.post("/scenario", {"nodes": [{"name": "kwok-node-1", "vms": []}]})
        assert emptied.status_code == 200, emptied.text
        yield endpoint
