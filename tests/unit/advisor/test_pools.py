"""A MachineConfig is in effect when every node of its pools runs it, and not before."""

from copy import deepcopy
from typing import Any

import pytest

from builders.worlds.openshift import a_cluster, changed
from trimtab.advisor.kinds import MACHINE_CONFIG_POOLS, MACHINE_CONFIGS
from trimtab.advisor.mocks.baseline import WORKERS, pool
from trimtab.advisor.plan import pools
from trimtab.advisor.plan.profile import ClusterFacts
from trimtab.advisor.profiles import swap
from trimtab.advisor.profiles.psi import machine_config
from trimtab.kube.resources import Free

PSI = machine_config("worker")
NAME = "99-worker-psi-karg"
NEW, OLD = "rendered-worker-new", "rendered-worker-old"


def a_pool(name: str = "worker", *, wants: str = NEW, runs: str = NEW, **status: Any) -> Free:
    """A pool of three whose new config holds ours; by default all of it is done."""
    obj = deepcopy(pool(name, WORKERS, 3))
    for part, config in (("spec", wants), ("status", runs)):
        names = ["00-worker", *([NAME] if config == NEW else [])]
        obj[part]["configuration"] = {"name": config, "source": [{"name": n} for n in names]}
    conditions = status.pop("conditions", {"Updated": "True", "Updating": "False"})
    obj["status"]["conditions"] = [{"type": t, "status": s} for t, s in conditions.items()]
    obj["status"] |= status
    return obj


def seen(*found: Free, arguments: tuple[str, ...] = ("psi=1",)) -> ClusterFacts:
    def rendered(*words: str) -> Free:
        return {"spec": {"kernelArguments": list(words), "config": {}}}

    objects = {MACHINE_CONFIGS.ref(NEW): rendered(*arguments), MACHINE_CONFIGS.ref(OLD): rendered()}
    return ClusterFacts(objects, {}, {MACHINE_CONFIG_POOLS: found})


UPDATING = {"Updated": "False", "Updating": "True"}
NEITHER = {"Updated": "False", "Updating": "False"}


@pytest.mark.parametrize(
    ("found", "state", "words"),
    [
        pytest.param(a_pool(), "ready", "is ready (Updated: 3/3, Ready: 3/3)", id="all done"),
        pytest.param(
            a_pool(conditions=UPDATING), "waiting", "is updating", id="counts done, still updating"
        ),
        pytest.param(
            a_pool(conditions=NEITHER), "waiting", "is processing changes", id="neither yet"
        ),
        pytest.param(
            a_pool(runs=OLD, updatedMachineCount=2, readyMachineCount=2, conditions=UPDATING),
            "waiting",
            "is updating (Updated: 2/3, Ready: 2/3)",
            id="two of three",
        ),
        pytest.param(
            a_pool(degradedMachineCount=1), "failed", "is degraded (1 machines)", id="degraded"
        ),
        pytest.param(
            a_pool(conditions={"Updated": "True", "Degraded": "True"}),
            "failed",
            "is degraded",
            id="degraded by its condition",
        ),
        pytest.param(
            a_pool(readyMachineCount=2), "waiting", "Waiting for", id="updated but not ready"
        ),
        pytest.param(
            a_pool(machineCount=0, updatedMachineCount=0, readyMachineCount=0),
            "ready",
            "has no machines",
            id="no machines, config rendered: nothing to wait for",
        ),
        pytest.param(
            a_pool(wants=OLD, runs=OLD, machineCount=0, updatedMachineCount=0, readyMachineCount=0),
            "waiting",
            "not in its rendered config yet",
            id="no machines is no proof by itself",
        ),
        pytest.param(
            a_pool(wants=OLD, runs=OLD),
            "waiting",
            "not in its rendered config yet",
            id="updated, but of the config before",
        ),
        pytest.param(
            {k: v for k, v in a_pool().items() if k != "status"},
            "waiting",
            "has no status yet",
            id="a pool without status",
        ),
    ],
)
def test_health_of_a_pool(found: Free, state: str, words: str) -> None:
    verdict = pools.health(PSI, seen(found))
    assert (verdict.state, verdict.healthy) == (state, state == "ready")
    assert words in verdict.message


def test_a_missing_pool_is_waited_for() -> None:
    assert pools.health(PSI, seen()).state == "waiting"
    assert "worker" in pools.health(PSI, seen()).message


def test_a_paused_pool_waits_for_a_person() -> None:
    paused = a_pool(wants=NEW, runs=OLD, conditions=NEITHER)
    paused["spec"]["paused"] = True
    verdict = pools.health(PSI, seen(paused))
    assert (verdict.state, "unpause it" in verdict.message) == ("blocked", True)
    unrendered = a_pool(wants=OLD, runs=OLD)
    unrendered["spec"]["paused"] = True
    assert pools.health(PSI, seen(unrendered)).state == "blocked"


def test_a_degraded_pool_says_why() -> None:
    sick = a_pool(degradedMachineCount=1)
    sick["status"]["conditions"].append(
        {"type": "NodeDegraded", "status": "True", "message": "node n2: disk is full"}
    )
    assert "node n2: disk is full" in pools.health(PSI, seen(sick)).message


def test_an_argument_that_a_later_config_takes_back_is_a_failure() -> None:
    verdict = pools.health(PSI, seen(a_pool(), arguments=("psi=1", "psi=0")))
    assert (verdict.state, verdict.message.endswith("overrides psi=1")) == ("failed", True)


def test_an_edited_config_is_not_in_effect_under_its_old_contents() -> None:
    verdict = pools.health(PSI, seen(a_pool(), arguments=("psi=0",)))
    assert (verdict.state, "as it was before" in verdict.message) == ("waiting", True)


def test_every_pool_that_takes_the_config_counts() -> None:
    infra = a_pool("infra", runs=OLD, conditions=UPDATING, updatedMachineCount=1)
    selector = {"key": "machineconfiguration.openshift.io/role", "operator": "In"}
    infra["spec"]["machineConfigSelector"] = {
        "matchExpressions": [selector | {"values": ["worker", "infra"]}]
    }
    verdict = pools.health(PSI, seen(a_pool(), infra))
    assert (verdict.state, "'infra' is updating" in verdict.message) == ("waiting", True)
    elsewhere = a_pool("master", degradedMachineCount=1)
    assert pools.health(PSI, seen(a_pool(), elsewhere)).healthy


@pytest.mark.parametrize("kind", ["ConfigMap", "KubeDescheduler", ""])
def test_anything_else_is_in_effect_at_once(kind: str) -> None:
    desired = {"kind": kind, "metadata": {"name": "x"}}
    assert pools.effect_of(desired) is None
    assert pools.health(desired, seen()) == pools.PoolHealth("ready", "applied")


def test_a_config_without_a_role_is_for_workers() -> None:
    effect = pools.effect_of({"kind": "MachineConfig", "metadata": {"name": "x"}})
    assert effect is not None
    assert effect.name == "worker"


def test_swap_is_in_effect_when_its_files_are_on_the_nodes() -> None:
    config = swap.machine_config()
    found = a_pool()
    for part in ("spec", "status"):
        found[part]["configuration"]["source"].append({"name": swap.NAME})
    facts = seen(found)
    assert pools.health(config, facts).state == "waiting"
    with_files = ClusterFacts({**facts.objects, MACHINE_CONFIGS.ref(NEW): config}, {}, facts.lists)
    assert pools.health(config, with_files).healthy


def test_a_deleted_config_is_gone_when_no_pool_holds_it() -> None:
    assert pools.gone(NAME, seen(a_pool(wants=OLD, runs=OLD))).healthy
    unnoticed = pools.gone(NAME, seen(a_pool(wants=NEW, runs=NEW)))
    assert unnoticed.state == "waiting"
    assert "still runs" in unnoticed.message
    leaving = pools.gone(NAME, seen(a_pool(wants=OLD, runs=NEW, conditions=UPDATING)))
    assert (leaving.state, "is updating" in leaving.message) == ("waiting", True)


def test_only_pools_with_a_rendered_config_have_arguments() -> None:
    cluster = a_cluster()
    worker = cluster.objects[MACHINE_CONFIG_POOLS.ref("worker")]
    nameless = changed(cluster, MACHINE_CONFIG_POOLS.ref("worker"))
    facts = seen(a_pool())
    assert pools.arguments_of(a_pool(), facts) == ["psi=1"]
    assert pools.arguments_of(worker, facts) == []
    assert pools.arguments_of(None, facts) == []
    assert pools.reads(seen(*nameless.objects.values()))
