"""What the player costs for 1,000 nodes and 10,000 guests, in CPU time with slack."""

import time

from msgspec import convert

from trimtab.kube.kubevirt import Vmi
from trimtab.kube.resources import Key
from trimtab.kube.virtual_machines import Load
from trimtab.model.load.curve import Constant
from trimtab.player.guests import Guest
from trimtab.player.metrics import GuestMetrics, NodeSizes, Running
from trimtab.player.migration import MigrationFacts
from trimtab.player.turn import next_step

NODES, GUESTS = 1_000, 10_000
GIB = 1024.0**3


def cpu_s(do) -> float:  # type: ignore[no-untyped-def]
    began = time.process_time()
    do()
    return time.process_time() - began


def test_a_page_of_ten_thousand_guests_takes_less_than_half_a_second() -> None:
    guest = Guest(Load(2.0, 4 * GIB, Constant(0.5), Constant(0.8)))
    rows = [
        Running(
            key=Key("default", f"vm-{number}"),
            node=f"kwok-node-{number % NODES}",
            pod=f"virt-launcher-vm-{number}",
            uid=str(number),
            guest=guest,
            vcpus=2,
            dirty_rate=0.0,
        )
        for number in range(GUESTS)
    ]
    nodes = {f"kwok-node-{number}": NodeSizes(32.0, 128 * GIB) for number in range(NODES)}
    metrics = GuestMetrics(time.monotonic)
    metrics.page(rows, nodes, 0.0)
    took = min(cpu_s(lambda: metrics.page(rows, nodes, 1.0)) for _ in range(3))
    print(f"page of {GUESTS} guests: {took:.3f} s CPU")
    assert took < 0.49


def test_a_decision_takes_less_than_thirty_microseconds() -> None:
    meta = {"name": "vm", "namespace": "default", "uid": "u"}
    conditions = [
        {"type": kind, "status": "True"} for kind in ("LiveMigratable", "StorageLiveMigratable")
    ]
    status = {"phase": "Running", "nodeName": "n1", "conditions": conditions}
    vmi = convert({"metadata": meta, "status": status}, Vmi)
    facts = MigrationFacts(now="", source_answers=True, target_answers=True, target_address="")
    took = min(cpu_s(lambda: [next_step(vmi, (), facts) for _ in range(GUESTS)]) for _ in range(3))
    print(f"{GUESTS} decisions: {took:.3f} s CPU")
    assert took / GUESTS < 27e-6
