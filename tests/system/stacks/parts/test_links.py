"""`trimtab lab test`: every link holds, and each one is broken on purpose and found."""

import asyncio
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest
from msgspec import structs

from builders.labs.loops import LoopLab
from builders.waiting import LIMIT_S, wait_until
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.scores.prometheus.files import KEY as RULES_KEY
from trimtab.stacks.loop.connection import Loop
from trimtab.stacks.loop.settings import RULES_MAP
from trimtab.stacks.loop.state import links
from trimtab.stacks.loop.state.links import Link
from trimtab.stacks.loop.state.round_trip import RoundTrip, all_links
from trimtab.vm.decide.eviction import TRIGGERED

pytestmark = pytest.mark.engines


async def every_link(loop: Loop) -> list[Link]:
    return [link async for link in all_links(loop)]


def await_broken(loop: LoopLab, check: links.Check, words: str) -> None:
    """The check fails, sooner or later, and says these words."""

    async def until_broken(asked: Loop) -> str:
        async with asyncio.timeout(LIMIT_S):
            while True:
                link = await links.judge("tested", check(asked), "")
                if words in link.detail and link.state == "broken":
                    return link.detail
                await asyncio.sleep(0.2)

    assert words in loop.ask(until_broken)


def await_whole(loop: LoopLab, check: links.Check) -> None:
    loop.ask(lambda asked: links.holds(check, asked, LIMIT_S))


def test_all_links_of_a_loop_hold_and_the_test_leaves_nothing_behind(loop: LoopLab) -> None:
    before = {vm.metadata.name for vm in loop.vms()}
    found = loop.ask(every_link)
    # a busy computer makes rules late, which is told and breaks nothing
    assert [link.state for link in found if link.name != "pace"] == ["ok"] * 14, found
    assert [link.state for link in found if link.name == "pace"] in (["ok"], ["late"])
    assert {vm.metadata.name for vm in loop.vms()} == before


def test_a_part_that_died_is_named(loop: LoopLab) -> None:
    loop.lab.kill("scenario")
    await_broken(loop, links.check_components, "scenario is")
    loop.lab.await_ready()


def test_a_vm_that_nobody_starts_is_named(loop: LoopLab) -> None:
    with loop.stopped("vm-controller"):
        loop.apply(A_VM)
        await_broken(loop, links.check_vms, "1 of ")
    await_whole(loop, links.check_vms)
    loop.lab.kubectl("delete", "vm", "lonely", "--wait=true")


def test_an_exporter_without_a_cluster_is_not_accepted(loop: LoopLab) -> None:
    with a_made_up_exporter() as port:

        async def check(asked: Loop) -> str:
            ports = {**asked.spec.ports, "exporter": port}
            other = structs.replace(asked, spec=structs.replace(asked.spec, ports=ports))
            return await links.check_exporter(other)

        await_broken(loop, check, "makes its numbers up")


def test_an_exporter_that_hangs_is_a_target_that_is_down(loop: LoopLab) -> None:
    with loop.stopped("exporter"):
        await_broken(loop, links.check_targets, "exporter: ")
    await_whole(loop, links.check_targets)


def test_a_rule_that_fails_is_named_with_its_error(loop: LoopLab) -> None:
    rules = loop.lab.get("configmap", "-n", *RULES_MAP)["data"][RULES_KEY]
    sick = "  - record: sick\n    expr: node_vm_count + on () node_vm_count\n"
    try:
        set_rules(loop, f"groups:\n- name: trimtab\n  interval: 15s\n  rules:\n{sick}")
        await_broken(loop, links.check_rules, "sick: ")
    finally:
        set_rules(loop, rules)
    await_whole(loop, links.check_rules)
    await_whole(loop, links.check_samples)


def test_a_query_without_samples_is_named(loop: LoopLab) -> None:
    try:
        loop.policy(DEFAULT_POLICY.replace(":k3:avg1m", ":k33:avg1m"))
        await_broken(loop, links.check_samples, "unable to find metric entry for kwok-node-")
        await_broken(loop, links.check_descheduler, "its last cycle failed")
    finally:
        loop.policy(DEFAULT_POLICY)
    await_whole(loop, links.check_descheduler)


def test_a_policy_that_was_refused_is_named(loop: LoopLab) -> None:
    bad = DEFAULT_POLICY.replace("MetricResource: 10", "MetricResource: 101")
    with pytest.raises(Exception, match=r"refused: policy\.yaml: profiles"):
        loop.policy(bad)
    await_broken(loop, links.check_projection, "refused: policy.yaml: profiles")
    loop.policy(DEFAULT_POLICY)
    await_whole(loop, links.check_projection)


def test_a_descheduler_without_its_token_is_named(loop: LoopLab) -> None:
    secret = loop.lab.get("secret", "-n", "kube-descheduler", TOKEN)
    loop.lab.kubectl("delete", "secret", "-n", "kube-descheduler", TOKEN)
    try:
        await_broken(loop, links.check_descheduler, "prometheus client not initialized")
    finally:
        loop.apply(without_history(secret))
    await_whole(loop, links.check_descheduler)


STEPS = ("", "placement", "eviction", "mark", "migration", "metrics")


@pytest.mark.parametrize(
    ("hanging", "after", "broken", "words"),
    [
        pytest.param("kube-scheduler", "", "placement", "VM is Scheduling", id="scheduler"),
        pytest.param("webhook", "placement", "eviction", "could not ask", id="webhook"),
        pytest.param("vm-controller", "placement", "migration", "not created", id="controller"),
        pytest.param("exporter", "placement", "metrics", "Prometheus says", id="exporter"),
    ],
)
def test_a_hanging_part_breaks_the_link_it_is(
    loop: LoopLab, hanging: str, after: str, broken: str, words: str
) -> None:
    """`after` is the link after which it hangs; patience is short for the broken link only."""

    async def followed(asked: Loop) -> list[Link]:
        experiment, found = RoundTrip(asked), [Link(name="", state="ok", detail="")]
        following = experiment.links()
        with ExitStack() as hangs:
            while True:
                last = found[-1]
                if last.name == after:
                    hangs.enter_context(loop.stopped(hanging))
                if STEPS[STEPS.index(last.name) + 1] == broken:
                    experiment.patience_s = 4.0
                found.append(await anext(following))
                if found[-1].state == "broken":
                    hangs.close()
                    return found + [link async for link in following]

    found = {link.name: link for link in loop.ask(followed)}
    assert found[broken].state == "broken", found
    assert words in found[broken].detail
    assert found[broken].look_at.startswith("trimtab lab ")
    loop.lab.await_ready()
    await_whole(loop, links.check_targets)


def test_an_eviction_that_nobody_intercepts_is_named(loop: LoopLab) -> None:
    kept = loop.lab.get(*CONFIGURATION)
    loop.lab.kubectl("delete", *CONFIGURATION)
    try:
        found = {link.name: link for link in loop.ask(small_experiment)}
    finally:
        loop.apply(without_history(kept))
    assert found["eviction"].detail == "the pod was evicted and nobody asked the webhook"
    assert found["metrics"].state == "untested"


def test_a_promise_without_a_mark_is_found_out(loop: LoopLab) -> None:
    kept = loop.lab.get(*CONFIGURATION)
    with a_liar(loop.lab.dir / "pki") as url:
        patch = [{"op": "replace", "path": "/webhooks/0/clientConfig/url", "value": url}]
        loop.lab.kubectl("patch", *CONFIGURATION, "--type=json", "-p", encoded(patch))
        try:
            found = {link.name: link for link in loop.ask(small_experiment)}
        finally:
            loop.apply(without_history(kept))
    assert found["eviction"].state == "ok"
    assert found["mark"].detail == "an evacuation was promised, but the VM is not marked"


async def small_experiment(loop: Loop) -> list[Link]:
    return [link async for link in RoundTrip(loop).links()]


def set_rules(loop: LoopLab, text: str) -> None:
    namespace, name = RULES_MAP
    patch = encoded({"data": {RULES_KEY: text}})
    loop.lab.kubectl("patch", "configmap", "-n", namespace, name, "--type=merge", "-p", patch)


def encoded(value: object) -> str:
    return msgspec.json.encode(value).decode()


def without_history(thing: dict[str, Any]) -> str:
    """An object as it was, ready to be created again."""
    history = ("resourceVersion", "uid", "creationTimestamp", "managedFields")
    kept = {key: value for key, value in thing["metadata"].items() if key not in history}
    return encoded(thing | {"metadata": kept})


@contextmanager
def a_made_up_exporter() -> Iterator[int]:
    """An exporter that found no cluster and goes by a scenario alone."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    scenario = Path(__file__).parents[4] / "examples/scenarios/one-hot-node.yaml"
    options = [f"--listen=127.0.0.1:{port}", f"--scenario={scenario}"]
    command = [sys.executable, "-m", "trimtab.cli", "run", "exporter", *options]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_open(port), "the exporter does not listen", LIMIT_S)
        yield port
    finally:
        process.terminate()
        process.wait(LIMIT_S)


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Liar(BaseHTTPRequestHandler):
    """Promises every evacuation and marks nothing."""

    def do_POST(self) -> None:
        asked = msgspec.json.decode(self.rfile.read(int(self.headers["Content-Length"])))
        status = {"code": 429, "message": f"{TRIGGERED} of VM"}
        response = {"uid": asked["request"]["uid"], "allowed": False, "status": status}
        kind = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        body = msgspec.json.encode(kind | {"response": response})
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""


@contextmanager
def a_liar(pki: Path) -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Liar)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki / "webhook-server.crt", pki / "webhook-server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


TOKEN = "prometheus-token"
CONFIGURATION = ("validatingwebhookconfiguration", "trimtab-eviction")
A_VM = """
apiVersion: trimtab.dev/v1alpha1
kind: VirtualMachine
metadata: {name: lonely, namespace: default}
spec: {resources: {cpu: 100m, memory: 128Mi}}
"""


def test_a_lost_clock_is_told_and_up_puts_it_back(loop: LoopLab) -> None:
    loop.lab.kubectl("delete", "configmap", "clock", "-n", "trimtab-system")
    await_broken(loop, links.check_clock, "is gone")
    assert loop.lab.up() == "repaired"
    await_whole(loop, links.check_clock)
