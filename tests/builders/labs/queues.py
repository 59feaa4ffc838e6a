"""A lab whose queue is ordered by promises, for tests: who is tried when, and what was measured.

The scheduler is not only killed but frozen first: what is created meanwhile is all there when
the next one starts, so the order of its attempts is the queue's and not that of arrivals.
"""

import json
import os
import re
import signal
import ssl
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml

from builders.labs.lab import RunningLab, running_lab
from builders.waiting import wait_until
from trimtab.files.writing import write_private
from trimtab.install.qos.scheduler import PLUGIN
from trimtab.lab.components.scheduler import CONFIG_FILE
from trimtab.stacks.qos.stack import QosStackSettings, qos_stack

KEY, SLO = "qos.trimtab.dev/key", "qos.trimtab.dev/slo"
ATTEMPT = re.compile(r'"Attempting to schedule pod" pod="([^/"]+)/([^"]+)"')
NODES, SLOTS = 2, 10


class QueueLab:
    """One lab; each test has a namespace of its own, and leaves the nodes empty."""

    def __init__(self, lab: RunningLab) -> None:
        self.lab = lab
        self._number = 0

    def namespace(self) -> str:
        self._number += 1
        name = f"queue-{self._number}"
        self.lab.kubectl("create", "namespace", name)
        wait_until(lambda: "default" in self._accounts(name), "no sa")
        return name

    def _accounts(self, namespace: str) -> list[str]:
        found = self.lab.get("serviceaccounts", "-n", namespace)["items"]
        return [account["metadata"]["name"] for account in found]

    def freeze(self) -> None:
        """Stop the scheduler where it stands."""
        os.kill(self.lab.processes()["kube-scheduler"].pid, signal.SIGSTOP)

    def renew(self) -> None:
        """Kill the scheduler, frozen or not, and wait for the next one."""
        before = self.lab.pid("kube-scheduler")
        os.kill(self.lab.processes()["kube-scheduler"].pid, signal.SIGKILL)
        wait_until(lambda: self.lab.pid("kube-scheduler") not in (before, None), "no scheduler")
        wait_until(lambda: self._state("kube-scheduler") == "ready", "the scheduler is not ready")

    def _state(self, component: str) -> str:
        return next(u.state for u in self.lab.status().units if u.name == component)

    @contextmanager
    def frozen(self, component: str) -> Iterator[None]:
        """A process that neither works nor ends."""
        pid = self.lab.processes()[component].pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def create(self, namespace: str, slos: list[str], prefix: str = "p") -> None:
        """Bare pods that take one slot each, in this order."""
        pods = [_pod(namespace, f"{prefix}{i:03}", slo) for i, slo in enumerate(slos)]
        self.lab.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(pods))

    def pods(self, namespace: str) -> dict[str, Any]:
        found = self.lab.get("pods", "-n", namespace)["items"]
        return {pod["metadata"]["name"]: pod for pod in found}

    def by_key(self, namespace: str) -> list[str]:
        """The pods' names as their stamps order them."""
        pods = self.pods(namespace)
        return sorted(pods, key=lambda name: _order(pods[name]))

    def bound(self, namespace: str) -> set[str]:
        pods = self.pods(namespace)
        return {name for name, pod in pods.items() if pod["spec"].get("nodeName")}

    def attempts(self, namespace: str) -> list[str]:
        """Names in the order in which each was tried for the first time."""
        log = self.lab.lab.log("kube-scheduler").read_text()
        tried = [name for where, name in ATTEMPT.findall(log) if where == namespace]
        return list(dict.fromkeys(tried))

    def empty(self, namespace: str) -> None:
        self.lab.kubectl("delete", "pods", "--all", "-n", namespace, "--wait=false")

    def bindings(self) -> list[dict[str, Any]]:
        """What the plugin tells of the present scheduler's bindings."""
        found: list[dict[str, Any]] = self._json("qos-bindings", "/bindings")["bindings"]
        return found

    def leads(self) -> bool:
        """Whether the service has its lease, so that it stamps and writes accounts down."""
        return bool(self._json("qos", "/v1/controllers")["leader"])

    def controllers(self, namespace: str) -> dict[str, dict[str, Any]]:
        """The ledger's rows of a namespace, by name."""
        rows = self._json("qos", f"/v1/controllers?ns={namespace}")["controllers"]
        return {row["name"]: row for row in rows}

    def _json(self, port: str, path: str) -> Any:
        spec = self.lab.lab.read_spec()
        assert spec is not None
        with urllib.request.urlopen(f"http://127.0.0.1:{spec.ports[port]}{path}") as answer:
            return json.load(answer)

    def scheduler_metric(self, start: str) -> float:
        """The value of the scheduler's series whose line starts so."""
        spec, pki = self.lab.lab.read_spec(), self.lab.lab.pki
        assert spec is not None
        trust = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        trust.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        url = f"https://127.0.0.1:{spec.ports['kube-scheduler']}/metrics"
        with urllib.request.urlopen(url, context=trust) as answer:
            text = answer.read().decode()
        lines = [line for line in text.splitlines() if line.startswith(start)]
        assert len(lines) == 1, lines
        return float(lines[0].split()[-1])

    @contextmanager
    def stock_order(self) -> Iterator[None]:
        """Without QosAware in the queue; the next scheduler that starts has it so."""
        file = self.lab.dir / CONFIG_FILE
        ours = file.read_text()
        config = yaml.safe_load(ours)
        for profile in config["profiles"]:
            for point in ("queueSort", "preFilter"):
                assert profile["plugins"].pop(point)["enabled"] == [{"name": PLUGIN}]
        write_private(file, yaml.safe_dump(config))
        try:
            yield
        finally:
            write_private(file, ours)
            self.renew()

    def await_tried(self, namespace: str, count: int) -> list[str]:
        wait_until(lambda: len(self.attempts(namespace)) == count, "not all pods were tried")
        return self.attempts(namespace)


def inversions(order: list[str], wanted: list[str]) -> int:
    """How many pairs are the wrong way round."""
    place = {name: i for i, name in enumerate(wanted)}
    seen = [place[name] for name in order]
    return sum(a > b for i, a in enumerate(seen) for b in seen[i + 1 :])


def _order(pod: dict[str, Any]) -> tuple[str, str, str]:
    meta = pod["metadata"]
    return meta["annotations"][KEY], meta["creationTimestamp"], meta["uid"]


def _pod(namespace: str, name: str, slo: str) -> dict[str, Any]:
    requests = {"cpu": "1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "annotations": {SLO: slo}},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "none", "resources": {"requests": requests}}],
        },
    }


@contextmanager
def running_queue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueueLab]:
    stack = qos_stack(QosStackSettings(verbosity=4))
    with running_lab(
        tmp_path_factory, stacks=(stack,), nodes=NODES, node_cpu=str(SLOTS), node_memory="64Gi"
    ) as lab:
        yield QueueLab(lab)
