"""Planning from saved manifests gives what the API server's dry run gives, to the last byte."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.labs.advisor import DESCHEDULER_HOME, Kubectl, await_established, install_release
from builders.worlds.openshift import load_aware
from conformance.apiserver import ApiServer
from trimtab.advisor.api import (
    HigherDensityOptions,
    KsmConfiguration,
    Options,
    Spec,
    VirtPlatformConfig,
)
from trimtab.advisor.cluster.objects import ClusterObjects
from trimtab.advisor.cluster.offline import plan_offline, read_directory
from trimtab.advisor.cluster.reading import ClusterReader
from trimtab.advisor.decide.situation import ConfigSituation
from trimtab.advisor.mocks.baseline import descheduler, hyperconverged, hyperconverged_v1
from trimtab.advisor.mocks.kube_descheduler import RELEASES, Release
from trimtab.advisor.plan.plan import PlatformPlan, target_of
from trimtab.advisor.plan.rollback import RollbackRecord
from trimtab.advisor.profiles.registry import built_in
from trimtab.kube.client import Client

pytestmark = pytest.mark.engines
LOAD_AWARE, DENSITY, EXAMPLE = built_in().names()
K8S = Path(__file__).parents[3] / "k8s"
SAVED = (
    "kubedeschedulers", "machineconfigs", "machineconfigpools", "hyperconvergeds",
    "configmaps", "deployments", "namespaces", "customresourcedefinitions",
)  # fmt: skip


@pytest.fixture
async def client(server: ApiServer) -> AsyncIterator[Client]:
    async with Client.from_kubeconfig(server.kubeconfig, writes_per_s=1000) as client:
        yield client


class Both:
    """A cluster that is planned live and from what kubectl saves of it."""

    def __init__(self, kubectl: Kubectl, client: Client, directory: Path) -> None:
        self.kubectl = kubectl
        self.access = ClusterObjects(client, built_in().resources())
        self.directory = directory

    async def live(self, name: str, options: Options | None) -> PlatformPlan:
        config = VirtPlatformConfig(spec=Spec(profile=name, options=options))
        situation = ConfigSituation(config=config, now=datetime.now(UTC), version="test")
        reading = ClusterReader(self.access, built_in().get(name), RollbackRecord())
        plan = (await reading.see(situation, ("plan",))).plan
        assert isinstance(plan, PlatformPlan), plan
        return plan

    def offline(self, name: str, options: Options | None) -> PlatformPlan:
        text = self.kubectl.run("get", ",".join(SAVED), "-A", "-o", "json", "--show-managed-fields")
        (self.directory / "cluster.json").write_text(text)
        return plan_offline(built_in().get(name), options, read_directory(self.directory))

    async def agree(self, name: str, options: Options | None = None) -> PlatformPlan:
        """Plan both ways; the plans must be equal."""
        live, offline = await self.live(name, options), self.offline(name, options)
        for here, there in zip(live.items, offline.items, strict=True):
            assert there.diff == here.diff
            assert there.takes == here.takes
        assert offline == live
        return live

    async def carry_out(self, plan: PlatformPlan) -> None:
        for item in plan.items:
            assert item.desired_state is not None
            await self.access.apply(item.target_ref, item.desired_state, "", force=True)


@pytest.fixture
def both(cluster: Kubectl, client: Client, tmp_path: Path) -> Both:
    return Both(cluster, client, tmp_path)


def start_over(kubectl: Kubectl, release: Release) -> None:
    """Another release with its objects as they were before anybody planned."""
    names = install_release(kubectl, release)
    await_established(kubectl, names)
    kubectl.clear("kubedescheduler", DESCHEDULER_HOME)
    kubectl.clear("hyperconverged", "openshift-cnv")
    for mine in ("99-worker-psi-karg", "90-worker-kubelet-swap"):
        kubectl.delete("machineconfig", mine)
    kubectl.apply(descheduler(), hyperconverged())


@pytest.mark.parametrize(
    "release",
    [pytest.param(r, marks=[pytest.mark.full] if r in ("5.14", "5.21") else []) for r in RELEASES],
)
async def test_a_release_before_and_after_it_was_applied(both: Both, release: Release) -> None:
    start_over(both.kubectl, release)
    first = await both.agree(LOAD_AWARE, load_aware(background_evictions=True))
    assert first.items[-1].takes
    await both.carry_out(first)
    await both.agree(LOAD_AWARE, load_aware(background_evictions=True))
    # what we no longer name goes: on 5.10 the customizations, elsewhere nothing
    await both.agree(LOAD_AWARE, load_aware(mode="Predictive", eviction_limit_total=9))


async def test_a_cluster_without_a_descheduler(both: Both) -> None:
    start_over(both.kubectl, "5.32")
    both.kubectl.clear("kubedescheduler", DESCHEDULER_HOME)
    plan = await both.agree(LOAD_AWARE)
    assert plan.items[-1].diff.startswith("--- /dev/null")
    assert "+  logLevel: Normal" in plan.items[-1].diff


async def test_fields_that_others_own_are_told_alike(both: Both) -> None:
    start_over(both.kubectl, "5.32")
    patch = {"spec": {"mode": "Automatic", "evictionLimits": {"total": 9}}}
    both.kubectl.patch("kubedescheduler", "cluster", patch, DESCHEDULER_HOME, "argocd")
    takes = (await both.agree(LOAD_AWARE)).items[-1].takes
    owners = {taking.field: taking.manager for taking in takes}
    assert owners["spec.evictionLimits.total"] == "argocd"
    assert "spec.mode" not in owners  # wanted by both


async def test_density_with_its_defaults_and_with_less(both: Both) -> None:
    start_over(both.kubectl, "5.32")
    await both.carry_out(await both.agree(DENSITY))
    await both.agree(DENSITY)
    less = HigherDensityOptions(ksm_configuration=KsmConfiguration(enabled=False))
    plan = await both.agree(DENSITY, Options(virt_higher_density=less))
    assert "-  ksmConfiguration:" in plan.items[-1].diff


async def test_the_example(both: Both) -> None:
    await both.carry_out(await both.agree(EXAMPLE))
    (item,) = (await both.agree(EXAMPLE)).items
    assert item.diff.endswith("(no changes)\n")


async def test_an_upstream_descheduler_with_a_deployment(both: Both) -> None:
    for manifest in cluster_descheduler():
        both.kubectl.apply(manifest)
    options = load_aware(target="upstream", algorithm="cpu_focused", mode="Predictive")
    plan = await both.agree(LOAD_AWARE, options)
    assert "+        - --dry-run=true" in plan.items[-1].diff
    await both.carry_out(plan)
    await both.agree(LOAD_AWARE, options)


async def test_hyperconverged_in_its_newer_version(both: Both) -> None:
    crd = "hyperconvergeds.hco.kubevirt.io"
    both.kubectl.run("delete", "crd", crd)
    try:
        both.kubectl.run("apply", "-f", str(K8S / "advisor/mocks/hyperconverged_v1.yaml"))
        await_established(both.kubectl, [crd])
        new = hyperconverged_v1()
        new["spec"]["virtualization"]["liveMigrationConfig"]["parallelMigrationsPerCluster"] = 20
        both.kubectl.apply(descheduler(), new)
        limits = (await both.agree(LOAD_AWARE)).items[-1].desired_state
        assert limits is not None
        assert limits["spec"]["evictionLimits"] == {"total": 18, "node": 2}
        plan = await both.agree(DENSITY)
        assert plan.items[-1].target_ref.api_version == "hco.kubevirt.io/v1"
        await both.carry_out(plan)
        await both.agree(DENSITY)
    finally:
        both.kubectl.run("delete", "crd", crd)


def test_the_files_of_mocks_and_samples_are_accepted(both: Both) -> None:
    """As the guide applies them."""
    start_over(both.kubectl, "5.32")
    names = ("machineconfig", "machineconfigpool", "hyperconverged_v1beta1")
    for name in (*(f"kubedescheduler_v{r.replace('.', '')}" for r in RELEASES), *names):
        file = str(K8S / "advisor/mocks" / f"{name}.yaml")
        said = both.kubectl.run("apply", "--server-side", "--force-conflicts", "-f", file)
        assert "serverside-applied" in said
    samples = ("mock_baseline_resources.yaml", "loadaware_sample.yaml")
    try:
        for name in samples:
            assert both.kubectl.run("apply", "-f", str(K8S / "advisor/samples" / name))
    finally:
        both.kubectl.forget(LOAD_AWARE)


def cluster_descheduler() -> list[dict[str, Any]]:
    """What a cluster installs of the descheduler: its policy and its Deployment."""
    files = ("descheduler-policy.yaml", "descheduler.yaml")
    found = [m for file in files for m in yaml.safe_load_all((K8S / file).read_text())]
    return [m for m in found if target_of(m).kind in ("ConfigMap", "Deployment")]
