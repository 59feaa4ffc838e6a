"""The queue of a real scheduler: who is tried first, who gets the last places, what it costs.

Bindings are asynchronous and overtake each other, so nothing here looks at their order.
"""

import random
import re
import subprocess

import pytest

from builders.labs.queues import KEY, NODES, SLOTS, QueueLab, inversions
from builders.waiting import LIMIT_S, wait_until
from trimtab.engines import locate
from trimtab.lab.components.scheduler import CONFIG_FILE

pytestmark = pytest.mark.engines
PROMISES = ["1.0", "0.99", "0.95", "0.9", "80%", "0.5", "0.25", "0"]


def mixed(count: int, seed: int) -> list[str]:
    return random.Random(seed).choices(PROMISES, k=count)


def test_pods_are_tried_in_the_order_of_their_stamps_and_the_first_get_the_places(
    queue: QueueLab,
) -> None:
    home, count = queue.namespace(), 30
    queue.freeze()
    queue.create(home, mixed(count, seed=1))
    wanted = queue.by_key(home)
    assert inversions(wanted, sorted(wanted)) > 50  # the order of creation would be another
    queue.renew()
    assert queue.await_tried(home, count) == wanted
    wait_until(lambda: len(queue.bound(home)) == NODES * SLOTS, "places stay empty")
    assert queue.bound(home) == set(wanted[: NODES * SLOTS])
    queue.empty(home)


def test_each_free_place_goes_to_whoever_is_first_whatever_its_back_off(queue: QueueLab) -> None:
    """All wait after failed attempts, the first ones by key were created last."""
    home = queue.namespace()
    queue.create(home, ["0.8"] * NODES * SLOTS, "runs-")
    wait_until(lambda: len(queue.bound(home)) == NODES * SLOTS, "not bound")
    waiting = ["0.5", "0.25", "0.9", "0.5", "0.99", "0.95", "1.0", "1.0"]
    for number, slo in enumerate(waiting):
        queue.create(home, [slo], f"waits-{number}-")
    queue.await_tried(home, NODES * SLOTS + len(waiting))
    wanted = [name for name in queue.by_key(home) if name.startswith("waits-")]
    served: set[str] = set()
    for number, first in enumerate(wanted):
        queue.lab.kubectl("delete", "pod", "-n", home, f"runs-{number:03}", "--wait=false")
        wait_until(lambda: queue.bound(home) & set(wanted) != served, "the place stays free")
        served.add(first)
        assert queue.bound(home) & set(wanted) == served, wanted
    queue.empty(home)


def test_without_the_plugin_the_order_is_another(queue: QueueLab) -> None:
    home, count = queue.namespace(), 30
    with queue.stock_order():
        queue.freeze()
        queue.create(home, mixed(count, seed=1))
        wanted = queue.by_key(home)
        queue.renew()
        assert inversions(queue.await_tried(home, count), wanted) > 50
        queue.empty(home)


def test_the_scheduler_writes_nothing_to_a_pod_before_it_binds_it(queue: QueueLab) -> None:
    home = queue.namespace()
    queue.create(home, ["0.9"] * 5)
    wait_until(lambda: len(queue.bound(home)) == 5, "not bound")
    stored = queue.lab.get("pods", "-n", home, "--show-managed-fields")
    for pod in stored["items"]:
        assert "nominatedNodeName" not in pod["status"]
        writers = {entry["manager"] for entry in pod["metadata"]["managedFields"]}
        assert not any("scheduler" in writer for writer in writers), writers
    queue.empty(home)


def test_binding_times_are_the_same_wherever_they_are_told(queue: QueueLab) -> None:
    home = queue.namespace()
    queue.freeze()
    queue.create(home, ["0.9", "0.5", "1.0", "0.8"])
    wait_until(lambda: len(queue.controllers(home)) == 4, "no accounts")
    queue.renew()
    wait_until(lambda: len(queue.bound(home)) == 4, "not bound")
    wait_until(lambda: len([b for b in queue.bindings() if b["namespace"] == home]) == 4, "untold")
    told = [b for b in queue.bindings() if b["result"] == "bound"]
    histogram = 'qosaware_bind_duration_seconds_{}{{result="bound"}}'
    assert queue.scheduler_metric(histogram.format("count")) == len(told)
    total = sum(b["seconds"] for b in told)
    assert queue.scheduler_metric(histogram.format("sum")) == pytest.approx(total, rel=1e-9)
    assert total > 0

    def on_the_page() -> dict[str, float]:
        return {name: row["bindingSeconds"] for name, row in queue.controllers(home).items()}

    wanted = {b["name"]: b["seconds"] for b in told if b["namespace"] == home}
    wait_until(lambda: on_the_page() == pytest.approx(wanted, abs=1e-6), "the page differs")
    assert not any(row["bindingApproximate"] for row in queue.controllers(home).values())
    queue.empty(home)


def test_a_misspelt_argument_of_the_plugin_ends_the_scheduler(queue: QueueLab) -> None:
    ours = queue.lab.dir / CONFIG_FILE
    file = queue.lab.dir / "config" / "wrong.yaml"
    file.write_text(ours.read_text().replace("bindingsAddress", "bindingAddress"))
    done = subprocess.run(
        [str(locate("kube-scheduler")), f"--config={file}", "--secure-port=0"],
        cwd=queue.lab.dir,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode != 0
    assert re.search(r'unknown field \\*"bindingAddress', done.stderr), done.stderr


def test_the_order_outlives_stamper_and_scheduler(queue: QueueLab) -> None:
    home, count = queue.namespace(), 25
    queue.freeze()
    queue.create(home, mixed(count, seed=2))
    wanted = queue.by_key(home)
    queue.lab.kill("qos")
    queue.renew()
    assert queue.await_tried(home, count) == wanted
    wait_until(lambda: len(queue.bound(home)) == NODES * SLOTS, "places stay empty")
    assert queue.bound(home) == set(wanted[: NODES * SLOTS])
    queue.empty(home)
    queue.lab.await_ready()


def test_without_the_stamper_pods_are_scheduled_by_age(queue: QueueLab) -> None:
    home = queue.namespace()
    queue.freeze()
    with queue.frozen("qos"):
        queue.create(home, ["0.25"], "older-")
        queue.create(home, ["1.0"], "newer-")  # after the API server's patience: another second
        assert not any(KEY in p["metadata"]["annotations"] for p in queue.pods(home).values())
        queue.renew()
        assert queue.await_tried(home, 2) == ["older-000", "newer-000"]
    queue.lab.await_ready()
    queue.empty(home)
