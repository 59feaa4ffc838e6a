"""Which MigrationPolicy wins: KubeVirt's rule, label by label."""

import pytest

from trimtab.virt.migration_policies import PolicySelectors, matching_policy

VMI = {"app": "db", "tier": "gold", "kubevirt.io/nodeName": "n1"}
NAMESPACE = {"team": "a"}


@pytest.mark.parametrize(
    ("policies", "winner"),
    [
        pytest.param([], "", id="no policies"),
        pytest.param([PolicySelectors("all")], "all", id="no labels match everything"),
        pytest.param([PolicySelectors("x", {"app": "web"})], "", id="another value"),
        pytest.param([PolicySelectors("x", {"app": "db", "zone": "1"})], "", id="a label too many"),
        pytest.param(
            [PolicySelectors("x", {"app": "db"}, {"team": "b"})], "", id="another namespace"
        ),
        pytest.param(
            [PolicySelectors("a"), PolicySelectors("z", {"app": "db"})], "z", id="more labels win"
        ),
        pytest.param(
            [PolicySelectors("a", {}, {"team": "a"}), PolicySelectors("z", {"app": "db"})],
            "z",
            id="with as many, labels of the VMI win",
        ),
        pytest.param(
            [
                PolicySelectors("a", {"app": "db"}),
                PolicySelectors("z", {"app": "db"}, {"team": "a"}),
            ],
            "z",
            id="labels of both are added up",
        ),
        pytest.param(
            [PolicySelectors("z", {"app": "db"}), PolicySelectors("a", {"tier": "gold"})],
            "a",
            id="otherwise the first by name",
        ),
    ],
)
def test_the_most_detailed_policy_wins(policies: list[PolicySelectors], winner: str) -> None:
    assert matching_policy(policies, VMI, NAMESPACE) == winner
