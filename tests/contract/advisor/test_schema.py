"""What a real API server accepts of a VirtPlatformConfig, and what it says to the rest."""

import asyncio
from typing import Any

import pytest

from builders.labs.advisor import DENSITY, EXAMPLE, LOAD_AWARE, Kubectl, a_config
from builders.waiting import wait_until
from trimtab.advisor.api import FREE_CONFIGS
from trimtab.install.advisor.admission import policies
from trimtab.kube.client import Client
from trimtab.kube.errors import Forbidden, Invalid, Unavailable
from trimtab.kube.resources import Free

pytestmark = pytest.mark.engines
REQUESTED_BY = "advisor.kubevirt.io/requested-by"


@pytest.fixture(scope="module")
def kubectl(cluster: Kubectl) -> Kubectl:
    return cluster


def create(kubectl: Kubectl, manifest: Free) -> Free:
    """Create it without keeping it; the answer has the defaults filled in."""

    async def run() -> Free:
        async with Client.from_kubeconfig(kubectl.server.kubeconfig) as client:
            return await client.create(FREE_CONFIGS, manifest, dry_run=True)

    return asyncio.run(run())


def aware(**options: Any) -> Free:
    return a_config(LOAD_AWARE, options={"loadAware": options})


def density(**options: Any) -> Free:
    return a_config(DENSITY, options={"virtHigherDensity": options})


def named(name: str, manifest: Free) -> Free:
    return manifest | {"metadata": {"name": name}}


def selector(**given: Any) -> Free:
    return density(ksmConfiguration={"nodeLabelSelector": given})


def labels(given: dict[str, str]) -> Free:
    return selector(matchLabels=given)


def expression(operator: str, *values: str, key: str = "a") -> Free:
    rule: Free = {"key": key, "operator": operator}
    return selector(matchExpressions=[rule | ({"values": list(values)} if values else {})])


REFUSED = [
    pytest.param(named("other", a_config(LOAD_AWARE)), "single", id="name is not the profile"),
    pytest.param(a_config("unknown"), "load-aware-rebalancing", id="unknown profile"),
    pytest.param(
        a_config(LOAD_AWARE, options={"virtHigherDensity": {}}),
        "options.loadAware",
        id="density's",
    ),
    pytest.param(
        a_config(DENSITY, options={"loadAware": {}}),
        "options.virtHigherDensity",
        id="load-aware's",
    ),
    pytest.param(
        a_config(EXAMPLE, options={"loadAware": {}}), "belongs to the profile", id="of the example"
    ),
    pytest.param(a_config(LOAD_AWARE, options={}), "leave options out", id="empty options"),
    pytest.param(aware(deschedulingIntervalSeconds=999999), "86400", id="interval too long"),
    pytest.param(aware(deschedulingIntervalSeconds=30), "60", id="interval too short"),
    pytest.param(aware(devDeviationThresholds="Huge"), "AsymmetricHigh", id="thresholds"),
    pytest.param(aware(mode="Wild"), "Predictive", id="mode"),
    pytest.param(aware(evictionLimitTotal=0), "1", id="no evictions"),
    pytest.param(aware(evictionLimitTotal=3, evictionLimitNode=4), "larger", id="node above total"),
    pytest.param(density(enableSwap=False, memoryToRequestRatio=150), "enableSwap", id="no swap"),
    pytest.param(density(memoryToRequestRatio=50), "100", id="ratio too low"),
    pytest.param(density(memoryToRequestRatio=500), "300", id="ratio too high"),
    pytest.param(
        selector(matchExpressions=[{"key": "a", "operator": "Near"}]), "NotIn", id="operator"
    ),
    pytest.param(labels({f"l{n}": "x" for n in range(33)}), "at most 32", id="many labels"),
    pytest.param(labels({"not a key": "x"}), "names of labels", id="key with blanks"),
    pytest.param(labels({"k" * 64: "x"}), "names of labels", id="long key"),
    pytest.param(labels({"a": "b c"}), "matchLabels.a", id="value with blanks"),
    pytest.param(labels({"a": "b" * 64}), "matchLabels.a", id="long value"),
    pytest.param(expression("In"), "In and NotIn need values", id="In without values"),
    pytest.param(expression("Exists", "x"), "take none", id="Exists with values"),
    pytest.param(expression("In", "a b"), "matchExpressions[0].values[0]", id="bad value"),
    pytest.param(expression("Exists", key="-a"), "matchExpressions[0].key", id="bad key"),
    pytest.param(a_config(EXAMPLE, waitTimeout="soon"), "waitTimeout", id="duration"),
    pytest.param(a_config(EXAMPLE, action="Destroy"), "DryRun", id="action"),
    pytest.param(a_config(EXAMPLE, approvedPlan="all of them"), "approvedPlan", id="plan id"),
]


@pytest.mark.parametrize(("manifest", "says"), REFUSED)
def test_it_refuses_and_says_why(kubectl: Kubectl, manifest: Free, says: str) -> None:
    with pytest.raises(Invalid) as refused:
        create(kubectl, manifest)
    assert says in str(refused.value)


ACCEPTED = [
    *(pytest.param(a_config(name), id=name) for name in (LOAD_AWARE, DENSITY, EXAMPLE)),
    *(
        pytest.param(aware(devDeviationThresholds=f"{kind}{level}"), id=f"{kind}{level}")
        for kind in ("", "Asymmetric")
        for level in ("Low", "Medium", "High")
    ),
    *(pytest.param(aware(mode=mode), id=mode) for mode in ("Automatic", "Predictive")),
    *(
        pytest.param(density(enableSwap=True, memoryToRequestRatio=ratio), id=f"ratio {ratio}")
        for ratio in (100, 120, 150, 200, 300)
    ),
    pytest.param(density(enableSwap=False, memoryToRequestRatio=120), id="120 without swap"),
    pytest.param(density(enableSwap=False), id="no swap alone"),
    pytest.param(density(), id="density by default"),
    pytest.param(labels({"kubernetes.io/arch": "amd64", "a": ""}), id="labels"),
    pytest.param(expression("NotIn", "b", "c.d"), id="NotIn with values"),
    pytest.param(expression("DoesNotExist", key="example.com/a"), id="DoesNotExist"),
    pytest.param(aware(enablePSIMetrics=False), id="no PSI"),
    pytest.param(aware(evictionLimitTotal=4, evictionLimitNode=4), id="limits"),
    pytest.param(a_config(EXAMPLE, waitTimeout="1h30m"), id="duration"),
]


@pytest.mark.parametrize("manifest", ACCEPTED)
def test_it_accepts(kubectl: Kubectl, manifest: Free) -> None:
    assert create(kubectl, manifest)["spec"]["action"] == "DryRun"


def test_defaults_are_filled_in_and_values_come_back(kubectl: Kubectl) -> None:
    assert create(kubectl, aware())["spec"]["options"]["loadAware"] == {
        "deschedulingIntervalSeconds": 60,
        "mode": "Automatic",
        "enablePSIMetrics": True,
        "devDeviationThresholds": "AsymmetricLow",
        "target": "openshift",
        "backgroundEvictions": False,
    }
    kept = create(kubectl, aware(deschedulingIntervalSeconds=120))["spec"]["options"]["loadAware"]
    assert kept["deschedulingIntervalSeconds"] == 120
    assert create(kubectl, density(enableSwap=True))["spec"]["options"] == {
        "virtHigherDensity": {"enableSwap": True}
    }
    expressions = [{"key": "a", "operator": "In", "values": ["b"]}]
    for given in ({}, {"matchLabels": {"a": "b"}}, {"matchExpressions": expressions}):
        options = create(kubectl, selector(**given))["spec"]["options"]["virtHigherDensity"]
        assert options["ksmConfiguration"] == {"enabled": True, "nodeLabelSelector": given}
    spec = create(kubectl, a_config(EXAMPLE))["spec"]
    assert (spec["failurePolicy"], spec["bypassOptimisticLock"]) == ("Abort", False)


@pytest.mark.parametrize("name", ["Mode", "interval", "deschedulingIntervalSecond", "replicas"])
def test_kubectl_refuses_options_that_do_not_exist(kubectl: Kubectl, name: str) -> None:
    said = kubectl.refused(aware(**{name: "x", "mode": "Automatic"}))
    assert f'unknown field "spec.options.loadAware.{name}"' in said


def test_the_profile_cannot_be_changed(kubectl: Kubectl) -> None:
    kubectl.apply(a_config(EXAMPLE))
    said = kubectl.attempt(
        "patch", "virtplatformconfig", EXAMPLE, "--type=merge", "-p", '{"spec":{"profile":"x"}}'
    )
    assert said.returncode != 0
    kubectl.forget(EXAMPLE)


# Admission


@pytest.fixture(scope="module")
def policed(kubectl: Kubectl) -> Kubectl:
    """As installed: an editor prepares plans, an approver says yes to them.

    Each policy comes into force by itself, so each is waited for.
    """
    kubectl.apply(a_config(EXAMPLE))
    kubectl.apply(*policies(), binding("editor", "ed"), binding("approver", "ada"))
    for policy in (stamps_who_asks, refuses_another_plan, refuses_an_editor):
        wait_until(lambda policy=policy: policy(kubectl), f"not in force: {policy.__name__}")  # type: ignore[misc]
    kubectl.forget(EXAMPLE)
    return kubectl


def stamps_who_asks(kubectl: Kubectl) -> bool:
    asked = tried(kubectl, "ada", action="Apply")
    return isinstance(asked, dict) and (
        (asked["metadata"].get("annotations") or {}).get(REQUESTED_BY) == "ada"
    )


def refuses_another_plan(kubectl: Kubectl) -> bool:
    return isinstance(tried(kubectl, "ada", approvedPlan="0123456789ab"), Invalid)


def refuses_an_editor(kubectl: Kubectl) -> bool:
    said = tried(kubectl, "ed", action="Apply")
    return isinstance(said, Forbidden) and "may not approve" in str(said)


def tried(kubectl: Kubectl, user: str, **spec: Any) -> Free | Exception:
    """What comes of a patch that is not kept; rights and policies hear of a new kind later."""
    try:
        return asyncio.run(patch_as(kubectl, user, {"spec": spec}, dry_run=True))
    except (Forbidden, Invalid, Unavailable) as error:
        return error


def binding(part: str, user: str) -> Free:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": user},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": f"virtplatformconfig-{part}"},
        "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
    }


async def create_as(kubectl: Kubectl, user: str, manifest: Free, *, dry_run: bool = True) -> Free:
    config = kubectl.server.kubeconfig_for(kubectl.server.url, user)
    async with Client.from_kubeconfig(config) as client:
        return await client.create(FREE_CONFIGS, manifest, dry_run=dry_run)


async def patch_as(kubectl: Kubectl, user: str, patch: Free, *, dry_run: bool = False) -> Free:
    config = kubectl.server.kubeconfig_for(kubectl.server.url, user)
    async with Client.from_kubeconfig(config) as client:
        return await client.patch(FREE_CONFIGS, EXAMPLE, patch, dry_run=dry_run)


async def test_who_asks_is_written_by_the_server_and_by_nobody_else(policed: Kubectl) -> None:
    created = await create_as(policed, "ed", a_config(EXAMPLE), dry_run=False)
    try:
        assert REQUESTED_BY not in (created["metadata"].get("annotations") or {})
        asked = await patch_as(policed, "ada", {"spec": {"action": "Apply"}})
        assert asked["metadata"]["annotations"][REQUESTED_BY] == "ada"
        forged = {"metadata": {"annotations": {REQUESTED_BY: "mallory"}}}
        kept = await patch_as(policed, "ed", forged)
        assert kept["metadata"]["annotations"][REQUESTED_BY] == "ada"
        removed = {"metadata": {"annotations": {REQUESTED_BY: None}}}
        kept = await patch_as(policed, "ed", removed)
        assert kept["metadata"]["annotations"][REQUESTED_BY] == "ada"
    finally:
        policed.forget(EXAMPLE)


async def test_only_who_may_approve_asks_for_changes(policed: Kubectl) -> None:
    await create_as(policed, "ed", a_config(EXAMPLE), dry_run=False)
    try:
        for spec in (
            {"action": "Apply"},
            {"action": "Rollback"},
            {"bypassOptimisticLock": True},
        ):
            with pytest.raises(Forbidden, match="user ed may not approve example-profile") as said:
                await patch_as(policed, "ed", {"spec": spec})
            assert "verb approve on virtplatformconfigs.advisor.kubevirt.io" in str(said.value)
            assert "bind you to the ClusterRole virtplatformconfig-approver" in str(said.value)
        await patch_as(policed, "ed", {"spec": {"action": "Ignore"}})
        await patch_as(policed, "ada", {"spec": {"action": "Apply"}})
        with pytest.raises(Forbidden, match="approve"):
            await patch_as(policed, "ed", {"spec": {"failurePolicy": "Continue"}})
    finally:
        policed.forget(EXAMPLE)


async def test_a_plan_that_is_not_under_review_cannot_be_approved(policed: Kubectl) -> None:
    await create_as(policed, "ed", a_config(EXAMPLE), dry_run=False)
    try:
        with pytest.raises(Invalid, match="not the plan under review"):
            await patch_as(policed, "ada", {"spec": {"approvedPlan": "0123456789ab"}})
    finally:
        policed.forget(EXAMPLE)
