"""Each service has the rights that it uses and no others, as the API server's audit log tells.

One lab runs every service under its own account, and everything that they do for users is asked
for once. A right that no request shows says why in its declaration (`unseen`).
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import httpx2
import pytest
import yaml

from builders.labs.audit import Request, audit_stack, audited, unused_rights
from builders.labs.exporter_http import Endpoint
from builders.labs.loops import ONE_HOT_NODE, LoopLab, running_loop
from builders.waiting import wait_until
from trimtab.install.service import ServiceSpec
from trimtab.model.scenarios.io import load_scenario
from trimtab.stacks.advisor.stack import AdvisorStackSettings, advisor_stack
from trimtab.stacks.balancer.stack import BalancerStackSettings, balancer_stack
from trimtab.stacks.loop.settings import EXPORTER_TOKEN_FILE, PAGE_TOKEN_FILE
from trimtab.stacks.qos.stack import QosStackSettings, qos_stack
from trimtab.stacks.registry import all_services

pytestmark = pytest.mark.engines
LATE = (
    ("scenario", "create", "pods/eviction"),
    ("qos", "create", "events"),
    ("vm-controller", "delete", "virtualmachinemigrations"),
)
"""What the services do in their own time."""
ELSEWHERE = {"virt-handler-player"}
"""Services of KubeVirt's VMs, which a lab with our own VMs refuses; see tests/system/player."""
DRAIN = "\nevents:\n  - {type: nodeDrains, at: 1m, node: kwok-node-2, lasts: 30m}\n"


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[set[Request]]:
    """What all services asked of the API server in a lab in which everything was used once."""
    stacks = (
        qos_stack(QosStackSettings()),
        advisor_stack(AdvisorStackSettings()),
        balancer_stack(BalancerStackSettings(mode="act")),
        audit_stack(),
    )
    both = {"soft_taints": True, "page": True}
    with running_loop(tmp_path_factory, beside=stacks, settings=both) as loop:
        _break_a_promise(loop)
        _look_at_the_page(loop)
        _move_by_hand(loop)
        _write_through_the_exporter(loop)
        _apply_and_take_back(loop)
        drained = tmp_path_factory.mktemp("scenario") / "drained.yaml"
        drained.write_text(ONE_HOT_NODE.read_text() + DRAIN)
        loop.start_over(load_scenario(drained))
        loop.converge(quiet=1)
        for wanted in LATE:
            wait_until(partial(_made, loop, *wanted), f"not seen: {' '.join(wanted)}")
        yield audited(loop.lab.dir)


def _made(loop: LoopLab, *wanted: str) -> bool:
    found = audited(loop.lab.dir)
    return any((each.service, each.verb, each.resource) == wanted for each in found)


def _break_a_promise(loop: LoopLab) -> None:
    """A controller whose pods fit nowhere, with all availability promised."""
    template = {
        "metadata": {"labels": {"app": "starved"}, "annotations": {"qos.trimtab.dev/slo": "1"}},
        "spec": {
            "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1000"}}}]
        },
    }
    starved = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "starved", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "starved"}}, "template": template},
    }
    loop.apply(yaml.safe_dump(starved))


def _move_by_hand(loop: LoopLab) -> None:
    """A migration that somebody wrote, one of a VM that is not there, and one called off."""
    vm = loop.vms()[0]
    for name, of in (("by-hand", vm.metadata.name), ("of-nobody", "nobody")):
        migration = {
            "apiVersion": "trimtab.dev/v1alpha1",
            "kind": "VirtualMachineMigration",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"vmName": of},
        }
        loop.apply(yaml.safe_dump(migration))
    note = f"trimtab.dev/cancel-evacuation={vm.status.node_name}"
    loop.lab.kubectl("annotate", "virtualmachine", vm.metadata.name, note, "--overwrite")


def _write_through_the_exporter(loop: LoopLab) -> None:
    token = (loop.lab.dir / EXPORTER_TOKEN_FILE).read_text().strip()
    exporter = Endpoint(loop.lab.urls["exporter"])
    who = {"Authorization": f"Bearer {token}"}
    text = ONE_HOT_NODE.read_text().replace("name: one-hot-node", "name: by-http")
    assert exporter.post("/scenario", text, **who).status_code == 200
    vm, node = next(iter(exporter.places().items()))
    moves = {"migrations": [{"vm_id": vm, "from_node": node}]}
    assert exporter.post("/feedback", moves, **who).status_code == 200
    exporter.http.close()


def _look_at_the_page(loop: LoopLab) -> None:
    """The page asks the cluster nothing before somebody looks, and everything then."""
    assert not [each for each in audited(loop.lab.dir) if each.service == "page"]
    token = (loop.lab.dir / PAGE_TOKEN_FILE).read_text()
    page = httpx2.Client(
        base_url=loop.lab.urls["page"],
        headers={"Authorization": f"Bearer {token}"},
        timeout=60.0,
    )

    def seen() -> bool:
        found = page.get("/v1/history").json()
        return any(change.get("nodes") for change in found["changes"])

    with page:
        wait_until(seen, "the page shows no node")
        places = page.get("/v1/places").json()
    assert all(places[part] is not None for part in ("plans", "accounts", "configs")), places


def _apply_and_take_back(loop: LoopLab) -> None:
    for words in (("apply", "--yes"), ("rollback", "--yes")):
        done = subprocess.run(
            [sys.executable, "-m", "trimtab.cli.kubectl", *words],
            env={**os.environ, "KUBECONFIG": str(loop.lab.kubeconfig)},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_no_service_asks_for_what_it_may_not_do(requests: set[Request]) -> None:
    assert {each for each in requests if each.code == 403} == set()


HERE = [service for service in all_services() if service.name not in ELSEWHERE]


@pytest.mark.parametrize("service", HERE, ids=lambda service: service.name)
def test_every_right_is_used(service: ServiceSpec, requests: set[Request]) -> None:
    assert unused_rights(service, requests) == []
