"""An exporter without Kubernetes, as a process of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.labs.exporter_http import ExporterProcess, running_exporter

SCENARIO = Path(__file__).parents[3] / "examples" / "scenarios" / "one-hot-node.yaml"


@pytest.fixture(scope="package")
def exporter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExporterProcess]:
    directory = tmp_path_factory.mktemp("exporter")
    with running_exporter(directory, f"--scenario={SCENARIO}", "--node-exporter") as exporter:
        yield exporter
