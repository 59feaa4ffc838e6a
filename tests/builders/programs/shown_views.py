"""Every table of every command in one process: `shown_views.py DIRECTORY`.

Views that need a running cluster have made-up data. After each a line names it, so that one
process in one terminal serves many tests.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import convert

from trimtab.cli.main import app
from trimtab.kube.virtual_machines import VirtualMachine, VirtualMachineMigration
from trimtab.lab.control import LabStatus, UnitStatus
from trimtab.qos.queue.waiting import Waiter
from trimtab.stacks.loop.state.loop_state import LoopNode, LoopState, MigrationUnderWay
from trimtab.stacks.loop.state.recent_cycles import RecentCycle, Request
from trimtab.view.lab import show_labs, show_started, show_status
from trimtab.view.loop import frame
from trimtab.view.services.qos import show_history, show_queue
from trimtab.view.services.vm import show_migrations, show_vms
from trimtab.view.terminal import out

NOW = datetime.now(UTC)
UNITS = ("etcd", "kube-apiserver", "kube-controller-manager", "prometheus", "vm-controller")


def a_node(number: int) -> LoopNode:
    return LoopNode(
        name=f"kwok-node-{number}",
        ready=number != 3,
        cordoned=False,
        cpu=0.3471 + number / 100,
        cpu_pressure=0.0512,
        memory=0.2178,
        memory_pressure=0.0113,
        vms=40 + number,
        score=0.1234 + number / 1000,
        kind="over" if number % 7 == 1 else "appropriate",
    )


def a_state(nodes: int) -> LoopState:
    return LoopState(
        at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        scale=10,
        algorithm="linear_amplified_ideal_point_positive_distance:k3",
        query="q",
        average=14.37,
        low=14.37,
        high=24.37,
        problem="",
        nodes=tuple(map(a_node, range(1, nodes + 1))),
        vms={"Running": 1234, "Migrating": 17},
        evacuating=(),
        moves=tuple(
            MigrationUnderWay(
                name=f"m-{n}",
                vm=f"vm-{n}",
                phase="PreCopy",
                source="kwok-node-1",
                target=f"kwok-node-{n}",
                age_s=10.0 * n,
            )
            for n in range(1, 11)
        ),
        moved=4321,
        cycle=RecentCycle(pid=1, ended="12:00:00.5", requests=(Request("default/pod-x", True),)),
    )


def watch(nodes: int) -> None:
    size = (out.width, out.height) if out.is_terminal else (None, None)
    out.print(frame(a_state(nodes), *size), soft_wrap=True)


def status() -> LabStatus:
    units = tuple(
        UnitStatus(
            name=name,
            kind="component",
            state="ready",
            pid=4_194_000 + n,
            restarts=n,
            since=time.time() - 9000,  # in the middle of an hour: the same words for long
            url=f"https://127.0.0.1:{36443 + n}",
            message="moved to another port because 6443 was taken" if n == 1 else "",
        )
        for n, name in enumerate(UNITS)
    )
    return LabStatus(
        name="default", phase="ready", dir="/var/lab", stacks=("loop",), nodes=500, units=units
    )


def vms() -> list[VirtualMachine]:
    return [
        convert(
            {
                "metadata": {
                    "name": f"database-of-the-shop-{n:04}",
                    "namespace": "default",
                    "creationTimestamp": NOW - timedelta(hours=n),
                },
                "spec": {"resources": {"cpu": "8", "memory": "16Gi"}},
                "status": {
                    "phase": "Migrating",
                    "nodeName": f"worker-{n}.rack-7.example.com",
                    "cpuPercent": 99,
                    "memoryPercent": 80,
                },
            },
            VirtualMachine,
        )
        for n in range(1, 13)
    ]


def migrations() -> list[VirtualMachineMigration]:
    return [
        convert(
            {
                "metadata": {"name": f"database-of-the-shop-{n:04}-evacuation", "namespace": "d"},
                "spec": {"vmName": "x"},
                "status": {
                    "phase": "Failed",
                    "sourceNode": "worker-1.rack-7.example.com",
                    "targetNode": "worker-2.rack-7.example.com",
                    "startTime": NOW - timedelta(seconds=1234.5),
                    "completionTime": NOW,
                    "attempts": n,
                    "reason": "the target did not become ready within 300 s",
                },
            },
            VirtualMachineMigration,
        )
        for n in range(1, 4)
    ]


def queue() -> list[Waiter]:
    return [
        convert(
            {
                "position": n,
                "namespace": "default",
                "name": f"web-5d9c7b7c9d-x7k2{n}",
                "uid": f"u{n}",
                "controller": "Deployment default/web-in-front-of-everything",
                "priority": 1000 * n,
                "tier": 0,
                "rank": 200_000 + n,
                "stamped": True,
                "key": "k",
                "deadline": "",
                "waitingSeconds": 83.5 * n,
                "reason": "Unschedulable",
                "message": "",
            },
            Waiter,
        )
        for n in range(1, 5)
    ]


HISTORY = {
    "transitions": [
        {"at": "2026-11-16T17:00:00.123456Z", "pod": f"web-5d9c7b7c9d-x7k2{n}", "what": "bound"}
        for n in range(3)
    ],
    "note": "",
}
EXAMPLES = Path(__file__).parents[3] / "examples"
NODES = {
    f"worker-{n}.example.com": {
        "cpu": n / 10 + 0.01,
        "cpuPressure": n / 100,
        "memory": n / 10 + 0.05,
        "memoryPressure": n / 100,
    }
    for n in range(1, 9)
}


def command(*words: str) -> Callable[[], None]:
    def run() -> None:
        app(list(words), result_action="return_value", exit_on_error=False)

    return run


VIEWS: dict[str, Callable[[], None]] = {
    "lab watch": lambda: watch(5),
    "lab watch, 120 nodes": lambda: watch(120),
    "lab status": lambda: show_status(status()),
    "lab up": lambda: show_started("created", status()),
    "lab list": lambda: show_labs([status()]),
    "vm list": lambda: show_vms(vms(), namespaces=True),
    "vm show": lambda: show_migrations(migrations()),
    "qos queue": lambda: show_queue(queue()),
    "qos history": lambda: show_history(HISTORY),
    "sim": command("sim", str(EXAMPLES / "scenarios/one-hot-node.yaml"), "--duration", "10m"),
    "scenario show": command("scenario", "show", str(EXAMPLES / "scenarios/diurnal.yaml")),
    "scores list": command("scores", "list"),
    "scores eval": command("scores", "eval", "nodes.json", "--all"),
    "explain": command("explain", str(EXAMPLES / "snapshots/evicts.yaml"), "--all"),
    "explain, kept": command("explain", str(EXAMPLES / "snapshots/local-storage.yaml"), "--all"),
    "advisor explain": command("advisor", "explain"),
    "engines list": command("engines", "list"),
}
END = "=== end of "

if __name__ == "__main__":
    os.chdir(sys.argv[1])
    Path("nodes.json").write_text(json.dumps(NODES))
    for name, show in VIEWS.items():
        show()
        sys.stdout.flush()
        print(f"{END}{name}", flush=True)
