"""What `lint` says of a cluster with the real KubeVirt."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import yaml

from builders.labs.kubevirt import KubevirtLab, needs_kubevirt
from builders.waiting import wait_until
from builders.worlds.snapshots import a_policy
from trimtab.kube.resources import Event
from trimtab.observe.look import look
from trimtab.observe.policy_source import Source
from trimtab.truth.lint import Facts, LintFinding, lint
from trimtab.vm.kubevirt_requests import KubevirtRequests

pytestmark = [pytest.mark.engines, needs_kubevirt]
POLICY: str = yaml.safe_dump(
    a_policy(nodeSelector="", evictor={"evictLocalStoragePods": True, "nodeFit": True})
)
SLOW = """\
apiVersion: migrations.kubevirt.io/v1alpha1
kind: MigrationPolicy
metadata: {name: slow}
spec:
  bandwidthPerMigration: 64Mi
  allowPostCopy: true
  selectors: {virtualMachineInstanceSelector: {}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: trimtab-eviction}
webhooks:
  - name: eviction.trimtab.dev
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Ignore
    clientConfig: {url: "https://127.0.0.1:1/evict"}
    namespaceSelector: {matchLabels: {nobody: has-this}}
    rules:
      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods/eviction]}
"""


@contextmanager
def beside(kubevirt: KubevirtLab, manifests: str) -> Iterator[None]:
    kubevirt.lab.kubectl("apply", "-f", "-", stdin=manifests)
    try:
        yield
    finally:
        kubevirt.lab.kubectl("delete", "-f", "-", stdin=manifests)


def findings(kubevirt: KubevirtLab) -> dict[str, LintFinding]:
    seen = kubevirt.ask(lambda client: look(client, Source(POLICY, "policy"), None, must_ask=False))
    return {each.id: each for each in lint(Facts(policy=POLICY, cluster=seen.snapshot))}


async def _events(requests: KubevirtRequests) -> list[Event]:
    return await requests.events(await requests.get("moves"))


def test_lint_tells_what_kubevirt_does_with_evictions(kubevirt: KubevirtLab) -> None:
    kubevirt.create("moves")
    kubevirt.create("stays", liveMigratable=False)
    kubevirt.create("stops", evictionStrategy="None")
    source = kubevirt.vmi("moves").status.node_name
    wanted = next(n for n in ("kwok-node-1", "kwok-node-2") if n != source)

    async def move(requests):  # type: ignore[no-untyped-def]
        return await requests.await_migrated(await requests.migrate("moves", to=wanted, force=True))

    kubevirt.request(move)
    wait_until(lambda: len(kubevirt.running_launchers("moves")) == 1, "the source goes on")
    both = {"VirtualMachine", "VirtualMachineInstance"}

    def told() -> list[Event]:  # KubeVirt writes events a little after what they tell
        events = kubevirt.request(_events)
        return events if both <= {each.regarding.kind for each in events} else []

    assert all(event.last_seen for event in wait_until(told, "events of one kind are missing"))
    with beside(kubevirt, SLOW):
        found = findings(kubevirt)
    (launcher,) = kubevirt.running_launchers("moves")
    assert launcher.metadata.name in found["launcher-keeps-hostname"].message
    assert "NotMigratable: default/stays" in found["vm-not-migratable"].message
    assert "default/stops" in found["vm-stops-when-evicted"].message
    assert "1 launcher is Completed" in found["completed-launchers"].message
    assert "trimtab-eviction, virt-api-validator" in found["two-eviction-webhooks"].message
    assert "slow sets allowPostCopy true, bandwidthPerMigration 64Mi" in (
        found["migration-policies"].message
    )
    assert "migrations-wait" not in found
    assert not {"two-eviction-webhooks", "migration-policies"} & findings(kubevirt).keys()
