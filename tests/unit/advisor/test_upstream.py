"""The same profile on plain Kubernetes: policy, rules, and the Deployment where there is one."""

from typing import Any

import pytest
import yaml

from builders.worlds.openshift import LOAD_AWARE, drafted, load_aware, planned, said
from trimtab.advisor.api import Options
from trimtab.advisor.cluster.offline import Directory
from trimtab.advisor.kinds import POLICY, RULES, UPSTREAM_DESCHEDULER
from trimtab.advisor.plan.plan import changes_nothing, target_of
from trimtab.advisor.plan.profile import MissingError, OptionError
from trimtab.advisor.profiles.eviction_limits import thresholds
from trimtab.advisor.profiles.registry import built_in
from trimtab.advisor.profiles.upstream import DEFAULT_ALGORITHM as DEFAULT
from trimtab.advisor.profiles.upstream import POLICY_KEY, arguments
from trimtab.kube.resources import Free
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.policy.file.reader import read_policy
from trimtab.scores import RuleSettings, find_score, rule_groups
from trimtab.scores.prometheus.files import KEY as RULES_KEY
from trimtab.scores.prometheus.files import render

ARGS = ["--policy-config-file=/policy/policy.yaml", "--descheduling-interval=60s", "--v=4"]


def namespaces(*names: str) -> list[Free]:
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}} for n in names]


def config_map(ref: Any, key: str, text: str) -> Free:
    metadata = {"name": ref.name, "namespace": ref.namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {key: text}}


def deployment(*args: str) -> Free:
    containers = [{"name": "proxy"}, {"name": "descheduler", "image": "d", "args": list(args)}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "descheduler", "namespace": "kube-descheduler"},
        "spec": {"template": {"spec": {"containers": containers}}},
    }


def a_cluster(*objects: Free) -> Directory:
    everything = [*namespaces("kube-descheduler", "monitoring"), *objects]
    return Directory({target_of(obj): obj for obj in everything}, {})


def upstream(**options: Any) -> Options:
    return load_aware(target="upstream", **options)


def policy_of(cluster: Directory, options: Options) -> dict[str, Any]:
    wanted = next(
        w for w in drafted(cluster, options).desired_objects if target_of(w.desired) == POLICY
    )
    text = wanted.desired["data"][POLICY_KEY]
    read_policy(text, "the plan's policy")
    tree: dict[str, Any] = yaml.safe_load(text)
    return tree


def test_by_default_it_is_the_policy_that_trimtab_ships() -> None:
    assert policy_of(a_cluster(), upstream()) == yaml.safe_load(DEFAULT_POLICY)


def test_a_lab_that_runs_the_default_needs_no_change() -> None:
    rules = render(
        rule_groups([find_score(name) for name in ("cpu_focused", DEFAULT)], RuleSettings())
    )
    cluster = a_cluster(
        config_map(POLICY, POLICY_KEY, "# with a comment\n" + DEFAULT_POLICY),
        config_map(RULES, RULES_KEY, rules),
    )
    plan = planned(cluster, upstream())
    assert [str(item.target_ref) for item in plan.items] == [
        "ConfigMap monitoring/trimtab-rules",
        "ConfigMap kube-descheduler/descheduler-policy",
    ]
    assert changes_nothing(plan.items)


def test_algorithm_thresholds_and_limits_reach_the_policy() -> None:
    options = upstream(
        algorithm="cpu_focused",
        dev_deviation_thresholds="Medium",
        eviction_limit_total=7,
        eviction_limit_node=3,
    )
    tree = policy_of(a_cluster(), options)
    args = tree["profiles"][0]["pluginConfig"][0]["args"]
    assert args["metricsUtilization"]["prometheus"]["query"] == (
        "descheduler:node:cpu_focused:avg1m"
    )
    assert (args["thresholds"], args["targetThresholds"]) == (
        {"MetricResource": 20},
        {"MetricResource": 20},
    )
    assert (tree["maxNoOfPodsToEvictTotal"], tree["maxNoOfPodsToEvictPerNode"]) == (7, 3)
    assert args["evictionLimits"] == {"node": 3}


def test_rules_record_what_the_policy_asks_for() -> None:
    wanted = drafted(a_cluster(), upstream(algorithm="cpu_focused")).desired_objects[0]
    groups = yaml.safe_load(wanted.desired["data"][RULES_KEY])["groups"]
    records = {rule.get("record") for group in groups for rule in group["rules"]}
    assert "descheduler:node:cpu_focused:avg1m" in records


def test_prometheus_and_the_choice_of_nodes_stay_the_users() -> None:
    own = yaml.safe_load(DEFAULT_POLICY)
    own["nodeSelector"] = "pool=vms"
    own["metricsProviders"][0]["prometheus"]["url"] = "http://thanos.example:9091"
    cluster = a_cluster(config_map(POLICY, POLICY_KEY, yaml.safe_dump(own)))
    tree = policy_of(cluster, upstream(algorithm="cpu_focused"))
    assert tree["nodeSelector"] == "pool=vms"
    assert tree["metricsProviders"] == own["metricsProviders"]


@pytest.mark.parametrize("text", ["", "{", "just words", "[1]"])
def test_a_text_that_is_no_policy_is_replaced(text: str) -> None:
    cluster = a_cluster(config_map(POLICY, POLICY_KEY, text))
    assert policy_of(cluster, upstream()) == yaml.safe_load(DEFAULT_POLICY)


@pytest.mark.parametrize(
    ("deviation", "expected"),
    [
        ("Low", (10, 10)),
        ("Medium", (20, 20)),
        ("High", (30, 30)),
        ("AsymmetricLow", (0, 10)),
        ("AsymmetricMedium", (0, 20)),
        ("AsymmetricHigh", (0, 30)),
    ],
)
def test_thresholds_are_those_of_openshift(deviation: str, expected: tuple[int, int]) -> None:
    assert thresholds(deviation) == expected


def test_an_unknown_algorithm_names_the_option() -> None:
    with pytest.raises(OptionError, match=r"options\.loadAware\.algorithm"):
        drafted(a_cluster(), upstream(algorithm="no_such_score"))


def test_simulating_needs_a_deployment_and_is_refused_without() -> None:
    with pytest.raises(OptionError, match="evictions would be real"):
        drafted(a_cluster(), upstream(mode="Predictive"))
    wanted = drafted(a_cluster(deployment(*ARGS)), upstream(mode="Predictive")).desired_objects[-1]
    (container,) = wanted.desired["spec"]["template"]["spec"]["containers"]
    assert "--dry-run=true" in container["args"]


def test_a_changed_policy_restarts_the_deployment() -> None:
    def note(**options: Any) -> str:
        wanted = drafted(a_cluster(deployment(*ARGS)), upstream(**options)).desired_objects[-1]
        annotations = wanted.desired["spec"]["template"]["metadata"]["annotations"]
        return str(annotations["trimtab-policy"])

    assert note() == note()
    assert note() != note(algorithm="cpu_focused")


@pytest.mark.parametrize(
    ("there", "options", "expected"),
    [
        pytest.param(ARGS, {}, ARGS, id="nothing to change"),
        pytest.param(
            ARGS,
            {"descheduling_interval_seconds": 300},
            [ARGS[0], "--descheduling-interval=300s", ARGS[2]],
            id="another interval in its place",
        ),
        pytest.param([*ARGS, "--dry-run"], {}, ARGS, id="automatic means that evictions are real"),
        pytest.param([], {}, ["--descheduling-interval=60s"], id="no arguments yet"),
    ],
)
def test_the_command_line_keeps_what_is_not_ours(
    there: list[str], options: dict[str, Any], expected: list[str]
) -> None:
    wanted = upstream(**options).load_aware
    assert wanted is not None
    assert arguments(wanted, there) == expected


def test_an_interval_without_a_deployment_has_no_effect_and_says_so() -> None:
    text = said(drafted(a_cluster(), upstream(descheduling_interval_seconds=300)))
    assert "deschedulingIntervalSeconds has no effect" in text


def test_a_deployment_of_another_shape_is_refused() -> None:
    other = deployment()
    other["spec"]["template"]["spec"]["containers"] = [{"name": "main"}]
    with pytest.raises(OptionError, match="has no container 'descheduler'"):
        drafted(a_cluster(other), upstream())


def test_it_needs_no_definitions_but_the_namespaces() -> None:
    assert built_in().get(LOAD_AWARE).needs(upstream()) == ()
    only = Directory({target_of(o): o for o in namespaces("monitoring")}, {})
    with pytest.raises(MissingError, match="kube-descheduler does not exist"):
        drafted(only, upstream())
    assert UPSTREAM_DESCHEDULER in built_in().get(LOAD_AWARE).targets()
