"""One lab with the queue for all of these tests; each leaves it as it found it."""

from collections.abc import Iterator

import pytest

from builders.labs.queues import QueueLab, running_queue


@pytest.fixture(scope="package")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueueLab]:
    """Two nodes of ten slots, the scheduler with QosAware, the service."""
    with running_queue(tmp_path_factory) as queue:
        yield queue
