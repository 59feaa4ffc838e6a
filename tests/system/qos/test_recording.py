"""The service against an account that is kept from watch events alone, on a real API server.

Pods are released, fail without saying when, are removed as those of a deleted node are, while
the service is there, paused, and killed. The recording is a thread of its own that is never
disturbed, and shares no code with the ledger.
"""

import json
import os
import signal
import ssl
import threading
import time
import urllib.request
from typing import Any

import pytest
import yaml

from builders.labs.queues import QueueLab
from builders.waiting import wait_until
from builders.witnesses.independent import Independent

pytestmark = pytest.mark.engines
GRAIN_S = 1.0
"""What the API rounds a moment to."""
FAILED = {"status": {"phase": "Failed"}}


class Recording:
    """Every watch event of a namespace's pods, with the moment at which it came."""

    def __init__(self, queue: QueueLab, namespace: str) -> None:
        spec, pki = queue.lab.lab.read_spec(), queue.lab.lab.pki
        assert spec is not None
        trust = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        trust.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        port = spec.ports["kube-apiserver"]
        url = f"https://127.0.0.1:{port}/api/v1/namespaces/{namespace}/pods?watch=1"
        self._answer = urllib.request.urlopen(url, context=trust)
        self._events: list[tuple[float, dict[str, Any]]] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self._answer:
            self._events.append((time.monotonic(), json.loads(line)))

    def account(self, replica_sets: dict[str, str], now: float) -> Independent:
        """What all events up to `now` add up to."""
        account = Independent()
        for uid, above in replica_sets.items():
            account.replica_set(self._events[0][0], uid, above)
        for when, event in list(self._events):
            account.see(when, event["type"], event["object"])
        account.pass_time(now)
        return account


SLOT = {
    "terminationGracePeriodSeconds": 0,
    "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}],
}
SOLO = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "solo"}, "spec": SLOT}


def a_deployment(name: str, replicas: int) -> dict[str, Any]:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": SLOT},
        },
    }


class Story:
    """What happens to the pods of one namespace."""

    def __init__(self, queue: QueueLab) -> None:
        self.queue, self.home = queue, queue.namespace()
        self.recording = Recording(queue, self.home)
        manifests = [a_deployment("web", 4), SOLO]
        queue.lab.kubectl("create", "-n", self.home, "-f", "-", stdin=yaml.safe_dump_all(manifests))
        self.await_running(5)

    def await_running(self, count: int) -> None:
        wait_until(lambda: len(self.queue.bound(self.home)) == count, "pods do not run")

    def web(self) -> list[str]:
        pods = self.queue.lab.get("pods", "-n", self.home, "-l", "app=web")["items"]
        return sorted(pod["metadata"]["name"] for pod in pods)

    def release(self, name: str) -> None:
        self.queue.lab.kubectl("label", "pod", name, "-n", self.home, "app=debug", "--overwrite")

    def fail(self, name: str, patch: dict[str, Any]) -> None:
        self.queue.lab.kubectl(
            "patch", "pod", name, "-n", self.home, "--subresource=status", "-p", json.dumps(patch)
        )

    def lose_node(self, name: str) -> None:
        """What the pod garbage collector does to the pods of a node that is gone."""
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        why = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": at}
        self.fail(name, {"status": {"phase": "Failed", "conditions": [why]}})
        self.force(name)

    def force(self, name: str) -> None:
        self.queue.lab.kubectl(
            "delete", "pod", name, "-n", self.home, "--force", "--grace-period=0"
        )

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.queue.lab.processes()["qos"].pid, number)

    def replica_sets(self) -> dict[str, str]:
        found = self.queue.lab.get("replicasets", "-n", self.home)["items"]
        return {
            each["metadata"]["uid"]: each["metadata"]["ownerReferences"][0]["uid"] for each in found
        }


def test_the_service_agrees_with_a_recording_though_pods_leave_fail_and_it_is_killed(
    queue: QueueLab,
) -> None:
    story = Story(queue)
    first, second, third, fourth = story.web()
    time.sleep(4)
    story.release(first)  # it sees that
    story.await_running(6)
    story.signal(signal.SIGSTOP)
    story.force(second)  # it hears of that when it goes on
    time.sleep(6)
    story.signal(signal.SIGCONT)
    story.await_running(6)
    time.sleep(4)
    story.signal(signal.SIGSTOP)
    story.fail("solo", FAILED)
    story.release(third)
    story.lose_node(fourth)
    time.sleep(4)
    queue.lab.kill("qos")
    queue.lab.await_ready()
    story.await_running(7)
    time.sleep(3)
    asked = time.monotonic()
    rows = {row["uid"]: row for row in queue.controllers(story.home).values()}
    took = time.monotonic() - asked
    account = story.recording.account(story.replica_sets(), asked)
    queue.lab.kubectl("delete", "namespace", story.home, "--timeout=300s")
    assert len(rows) == 4, "web, solo and the two that were released"
    assert account.sums.keys() >= rows.keys()
    for uid, row in rows.items():
        slack = (account.transitions[uid] + 1) * GRAIN_S + took + row["gapSeconds"]
        for kind in ("running", "waiting"):
            off = row[f"{kind}Seconds"] - account.sums[uid][kind]
            print(f"{row['name']} {kind}: {off:+.2f} s, gap {row['gapSeconds']:.1f} s")
            assert abs(off) <= slack, (row, dict(account.sums[uid]))
