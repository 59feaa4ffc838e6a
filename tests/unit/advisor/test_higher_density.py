"""What `virt-higher-density` wants: swap on the nodes, shared pages, memory overcommit."""

from base64 import b64decode
from typing import Any

import pytest

from builders.worlds.openshift import DENSITY, a_cluster, added, changed, drafted, planned
from trimtab.advisor.api import (
    HigherDensityOptions,
    KsmConfiguration,
    LabelRequirement,
    LabelSelector,
    Options,
)
from trimtab.advisor.cluster.offline import Directory
from trimtab.advisor.kinds import HYPERCONVERGED, HYPERCONVERGED_V1, MACHINE_CONFIGS
from trimtab.advisor.mocks import baseline
from trimtab.advisor.mocks.manifests import hyperconverged_v1
from trimtab.advisor.plan.profile import MissingError, OptionError
from trimtab.advisor.profiles import swap
from trimtab.advisor.profiles.higher_density import RATIO_INPUT
from trimtab.advisor.profiles.registry import built_in
from trimtab.kube.resources import Free


def density(**options: Any) -> Options:
    return Options(virt_higher_density=HigherDensityOptions(**options))


def hyperconverged(options: Options | None = None) -> Free:
    spec: Free = drafted(a_cluster(), options, DENSITY).desired_objects[-1].desired["spec"]
    return spec


@pytest.mark.parametrize("options", [None, density()], ids=["nothing said", "empty options"])
def test_by_default_swap_comes_first(options: Options | None) -> None:
    swapping, overcommit = planned(a_cluster(), options, DENSITY).items
    assert (swapping.name, swapping.target_ref) == (
        "enable-kubelet-swap",
        MACHINE_CONFIGS.ref("90-worker-kubelet-swap"),
    )
    assert (swapping.impact_severity, swapping.managed_fields) == ("High", ("spec.config",))
    assert "CNV_SWAP" in swapping.message
    for words in ("version: 3.2.0", "mode: 493", "/etc/find-swap-partition", "swap-provision.serv"):
        assert words in swapping.diff
    assert swapping.diff.count("enabled: true") == 2
    assert (overcommit.name, overcommit.target_ref) == ("configure-higher-density", HYPERCONVERGED)
    assert (overcommit.impact_severity, overcommit.depends_on) == ("Medium", (swapping.name,))
    assert overcommit.managed_fields == (
        "spec.higherWorkloadDensity.memoryOvercommitPercentage",
        "spec.ksmConfiguration",
    )
    assert "+    memoryOvercommitPercentage: 150" in overcommit.diff
    assert "nodeLabelSelector" in overcommit.diff


def test_no_swap_alone_is_a_valid_wish() -> None:
    (wanted,) = drafted(a_cluster(), density(enable_swap=False), DENSITY).desired_objects
    density_of = wanted.desired["spec"]["higherWorkloadDensity"]
    assert density_of == {"memoryOvercommitPercentage": 120}
    assert wanted.depends_on == ()


def test_a_ratio_of_ones_own_is_used_and_named() -> None:
    wanted = drafted(a_cluster(), density(memory_to_request_ratio=200), DENSITY).desired_objects[-1]
    assert wanted.desired["spec"]["higherWorkloadDensity"]["memoryOvercommitPercentage"] == 200
    assert "200 %" in wanted.message


def test_without_ksm_nothing_is_said_of_it() -> None:
    options = density(ksm_configuration=KsmConfiguration(enabled=False))
    wanted = drafted(a_cluster(), options, DENSITY).desired_objects[-1]
    assert "ksmConfiguration" not in wanted.desired["spec"]
    assert not [path for path in wanted.managed_fields if "ksm" in path]
    assert "KSM" not in wanted.message


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param(LabelSelector(), {}, id="all nodes"),
        pytest.param(
            LabelSelector(match_labels={"a": "b"}), {"matchLabels": {"a": "b"}}, id="labels"
        ),
        pytest.param(
            LabelSelector(match_expressions=(LabelRequirement(key="k"),)),
            {"matchExpressions": [{"key": "k", "operator": "Exists"}]},
            id="an expression without values",
        ),
        pytest.param(
            LabelSelector(
                match_labels={"a": "b"},
                match_expressions=(LabelRequirement(key="k", operator="In", values=("x",)),),
            ),
            {
                "matchLabels": {"a": "b"},
                "matchExpressions": [{"key": "k", "operator": "In", "values": ["x"]}],
            },
            id="both",
        ),
    ],
)
def test_selectors_are_passed_on_as_written(selector: LabelSelector, expected: Free) -> None:
    options = density(ksm_configuration=KsmConfiguration(node_label_selector=selector))
    assert hyperconverged(options)["ksmConfiguration"] == {"nodeLabelSelector": expected}


def test_a_high_ratio_needs_swap() -> None:
    with pytest.raises(OptionError, match="needs swap"):
        drafted(a_cluster(), density(enable_swap=False, memory_to_request_ratio=150), DENSITY)
    fine = density(enable_swap=False, memory_to_request_ratio=120)
    assert len(drafted(a_cluster(), fine, DENSITY).desired_objects) == 1


def test_a_foreign_ratio_is_an_input_unless_the_user_gave_one() -> None:
    def inputs(percent: int, options: Options | None = None) -> dict[str, Any]:
        value = {"memoryOvercommitPercentage": percent}
        cluster = changed(a_cluster(), HYPERCONVERGED, higherWorkloadDensity=value)
        return dict(drafted(cluster, options, DENSITY).inputs)

    assert inputs(100) == inputs(150) == {RATIO_INPUT: None}
    assert inputs(180) == {RATIO_INPUT: 180}
    assert inputs(180, density(memory_to_request_ratio=150)) == {}


def test_where_only_v1_is_served_it_is_written() -> None:
    cluster = added(a_cluster(without=[HYPERCONVERGED]), baseline.hyperconverged_v1())
    crd = hyperconverged_v1()
    served = Directory(cluster.objects, {**cluster.crds, crd["metadata"]["name"]: crd})
    item = planned(served, None, DENSITY).items[-1]
    assert item.target_ref == HYPERCONVERGED_V1
    assert item.managed_fields[0] == (
        "spec.virtualization.higherWorkloadDensity.memoryOvercommitPercentage"
    )


def test_hyperconverged_is_never_created() -> None:
    """To create it would install KubeVirt, and the way back would delete it with all VMs."""
    with pytest.raises(MissingError, match="install OpenShift Virtualization first"):
        planned(a_cluster(without=[HYPERCONVERGED]), None, DENSITY)


def test_its_prerequisites_follow_the_options() -> None:
    profile = built_in().get(DENSITY)
    needs = profile.needs(None)
    assert [need.resource.kind for need in needs] == ["MachineConfig", "HyperConverged"]
    assert "OpenShift" in needs[0].hint
    assert all(need.hint for need in needs)
    without = profile.needs(density(enable_swap=False))
    assert [need.resource.kind for need in without] == ["HyperConverged"]


def test_the_script_only_takes_the_labelled_partition() -> None:
    files = swap.machine_config()["spec"]["config"]["storage"]["files"]
    texts = {
        f["path"]: b64decode(f["contents"]["source"].partition(",")[2]).decode() for f in files
    }
    assert "blkid --label CNV_SWAP" in texts[swap.SCRIPT_FILE]
    assert "LimitedSwap" in texts[swap.KUBELET_FILE]
