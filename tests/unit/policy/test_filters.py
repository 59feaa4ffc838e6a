"""DefaultEvictor's filter (2.1): what protects a pod, what beats it, and the reasons."""

from typing import Any

import pytest

from builders.worlds.policy import a_pod, a_view
from trimtab.policy.file.selector_text import parse_selector
from trimtab.policy.file.settings import DEFAULT_PROTECTIONS, Evictor, Protection
from trimtab.policy.pods.filters import Filter

EVERY_PROTECTION = frozenset(Protection)
CRITICAL = 2_000_000_000


def rules(pod: Any, evictor: Evictor, **facts: Any) -> list[str]:
    """Rules that refuse; and the quick answer must agree with them."""
    judge = Filter(evictor, a_view(**facts))
    found = [reason.rule for reason in judge.refusals(pod)]
    assert judge.passes(pod) == (not found)
    return found


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param({}, [], id="an owned pod passes"),
        pytest.param({"mirror": True}, ["2.1.3.mirror"], id="mirror"),
        pytest.param({"static": True}, ["2.1.3.static"], id="static"),
        pytest.param({"terminating": True}, ["2.1.3.terminating"], id="terminating"),
        pytest.param({"local_storage": True}, ["2.1.4.PodsWithLocalStorage"], id="emptyDir"),
        pytest.param({"owners": 0}, ["2.1.4.FailedBarePods"], id="bare"),
        pytest.param({"daemon_set": True}, ["2.1.4.DaemonSetPods"], id="daemon set"),
        pytest.param(
            {"priority": CRITICAL},
            ["2.1.4.SystemCriticalPods", "2.1.4.priorityThreshold"],
            id="critical is refused twice over",
        ),
        pytest.param({"priority": CRITICAL - 1}, [], id="just below critical passes"),
        pytest.param({"priority": None}, [], id="no priority passes"),
        pytest.param({"claims": ("data",)}, [], id="a claim protects only on request"),
        pytest.param({"resource_claims": True}, [], id="so do resource claims"),
        pytest.param({"prefer_no_eviction": True}, [], id="a preference does not protect"),
        pytest.param(
            {"mirror": True, "terminating": True, "owners": 0, "local_storage": True},
            [
                "2.1.3.mirror",
                "2.1.3.terminating",
                "2.1.4.FailedBarePods",
                "2.1.4.PodsWithLocalStorage",
            ],
            id="all reasons, in the order of the log",
        ),
    ],
)
def test_the_default_protections(pod: dict[str, Any], expected: list[str]) -> None:
    assert rules(a_pod(**pod), Evictor()) == expected


def test_the_evict_annotation_beats_everything() -> None:
    """2.1.1: protections, Mandatory, termination, mirror, daemon set."""
    pod = a_pod(
        evict=True,
        prefer_no_eviction=True,
        mirror=True,
        static=True,
        terminating=True,
        owners=0,
        daemon_set=True,
        local_storage=True,
        priority=CRITICAL,
        claims=("data",),
        resource_claims=True,
    )
    evictor = Evictor(
        protections=EVERY_PROTECTION,
        no_eviction="Mandatory",
        label_selector=parse_selector("app=other", "labelSelector"),
        min_replicas=5,
        min_pod_age_s=1e9,
    )
    assert rules(pod, evictor) == []


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param("Mandatory", ["2.1.2"], id="mandatory"),
        pytest.param("Preferred", [], id="preferred only orders"),
        pytest.param("", [], id="not set"),
    ],
)
def test_prefer_no_eviction(policy: Any, expected: list[str]) -> None:
    assert rules(a_pod(prefer_no_eviction=True), Evictor(no_eviction=policy)) == expected


def test_mandatory_is_tested_before_the_other_reasons() -> None:
    """2.1.2: the descheduler logs nothing else for such a pod."""
    pod = a_pod(prefer_no_eviction=True, mirror=True, owners=0)
    assert rules(pod, Evictor(no_eviction="Mandatory")) == ["2.1.2"]


@pytest.mark.parametrize(
    ("protection", "pod"),
    [
        pytest.param(Protection.LOCAL_STORAGE, {"local_storage": True}, id="local storage"),
        pytest.param(Protection.DAEMON_SET, {"daemon_set": True}, id="daemon set"),
        pytest.param(Protection.SYSTEM_CRITICAL, {"priority": CRITICAL}, id="critical"),
    ],
)
def test_a_disabled_protection_lets_the_pod_go(protection: Protection, pod: dict[str, Any]) -> None:
    assert rules(a_pod(**pod), Evictor(protections=DEFAULT_PROTECTIONS - {protection})) == []


def test_without_system_critical_the_priority_threshold_is_ignored() -> None:
    """An explicit one too."""
    pod = a_pod(priority=500)
    assert rules(pod, Evictor(priority_threshold=100)) == ["2.1.4.priorityThreshold"]
    unprotected = DEFAULT_PROTECTIONS - {Protection.SYSTEM_CRITICAL}
    assert rules(pod, Evictor(priority_threshold=100, protections=unprotected)) == []


def test_the_priority_threshold_itself_is_too_high() -> None:
    assert rules(a_pod(priority=99), Evictor(priority_threshold=100)) == []
    assert rules(a_pod(priority=100), Evictor(priority_threshold=100)) != []


def test_bare_pods_stay_even_unprotected() -> None:
    """Only Failed ones would pass, and those never get here."""
    unprotected = DEFAULT_PROTECTIONS - {Protection.FAILED_BARE}
    judge = Filter(Evictor(protections=unprotected), a_view())
    (reason,) = judge.refusals(a_pod(owners=0))
    assert reason.text == "pod does not have any ownerRefs and is not in failed phase"


def test_without_a_budget_means_everybody() -> None:
    """The list of budgets stays empty, so having one does not help."""
    evictor = Evictor(protections=DEFAULT_PROTECTIONS | {Protection.WITHOUT_PDB})
    assert rules(a_pod(), evictor) == ["2.1.4.PodsWithoutPDB"]


def test_resource_claims_protect_on_request() -> None:
    evictor = Evictor(protections=DEFAULT_PROTECTIONS | {Protection.RESOURCE_CLAIMS})
    assert rules(a_pod(resource_claims=True), evictor) == ["2.1.4.PodsWithResourceClaims"]


@pytest.mark.parametrize(
    ("claims", "classes", "refused"),
    [
        pytest.param(("data",), (), True, id="any claim"),
        pytest.param((), (), False, id="no claim"),
        pytest.param(("data",), ("fast",), True, id="a listed class"),
        pytest.param(("data",), ("slow",), False, id="another class"),
        pytest.param(("data", "log"), ("slow",), True, id="one of two"),
        pytest.param(("missing",), ("slow",), True, id="a claim that does not exist"),
        pytest.param(("empty",), ("slow",), True, id="a claim without a class"),
    ],
)
def test_claims_protect_on_request(
    claims: tuple[str, ...], classes: tuple[str, ...], refused: bool
) -> None:
    evictor = Evictor(
        protections=DEFAULT_PROTECTIONS | {Protection.PVC}, storage_classes=frozenset(classes)
    )
    known = {"default/data": "fast", "default/log": "slow", "default/empty": None}
    assert bool(rules(a_pod(claims=claims), evictor, storage_classes=known)) == refused


def test_claims_belong_to_the_pods_namespace() -> None:
    evictor = Evictor(protections=frozenset({Protection.PVC}), storage_classes=frozenset({"fast"}))
    known = {"a/data": "fast", "b/data": "slow"}
    shared = a_pod("one", namespace="a", claims=("data",))
    judge = Filter(evictor, a_view(storage_classes=known))
    twin = type(shared)(uid="2", name="two", namespace="b", traits=shared.traits)
    assert [judge.passes(shared), judge.passes(twin)] == [False, True]


def test_the_label_selector() -> None:
    evictor = Evictor(label_selector=parse_selector("app in (a,b)", "labelSelector"))
    assert rules(a_pod(labels={"app": "a"}), evictor) == []
    assert rules(a_pod(labels={"app": "c"}), evictor) == ["2.1.5.labelSelector"]
    assert rules(a_pod(), evictor) == ["2.1.5.labelSelector"]


@pytest.mark.parametrize(
    ("owners", "replicas", "minimum", "refused"),
    [
        pytest.param(1, 1, 2, True, id="too few"),
        pytest.param(1, 2, 2, False, id="enough"),
        pytest.param(2, 1, 2, False, id="several owners are not counted"),
        pytest.param(1, 0, 1, False, id="one is no minimum"),
        pytest.param(1, 0, 0, False, id="none"),
    ],
)
def test_minimum_replicas(owners: int, replicas: int, minimum: int, refused: bool) -> None:
    """The number comes from the view, which counts every pod of the owner."""
    found = rules(
        a_pod(owners=owners, owner_uid="o" if owners == 1 else ""),
        Evictor(min_replicas=minimum),
        replicas={"o": replicas},
    )
    assert found == (["2.1.5.minReplicas"] if refused else [])


@pytest.mark.parametrize(
    ("age", "minimum", "refused"),
    [
        pytest.param(59.0, 60.0, True, id="too young"),
        pytest.param(60.0, 60.0, False, id="just old enough"),
        pytest.param(None, 60.0, True, id="never started"),
        pytest.param(None, 0.0, True, id="never started, even with 0s"),
        pytest.param(None, None, False, id="no minimum"),
        pytest.param(0.0, -5.0, False, id="a negative minimum is accepted and moot"),
    ],
)
def test_minimum_age(age: float | None, minimum: float | None, refused: bool) -> None:
    now = 1_000_000.0
    pod = a_pod(started=None if age is None else now - age)
    found = rules(pod, Evictor(min_pod_age_s=minimum), now=now)
    assert found == (["2.1.5.minPodAge"] if refused else [])


def test_pods_alike_are_judged_once_and_the_moment_is_judged_each_time() -> None:
    now = 1_000_000.0
    judge = Filter(Evictor(min_pod_age_s=60.0), a_view(now=now))
    old = a_pod("old", started=now - 100)
    young = type(old)(uid="y", name="young", started=now - 1, traits=old.traits)
    going = type(old)(uid="g", name="going", started=now - 100, terminating=True, traits=old.traits)
    assert [judge.passes(pod) for pod in (old, young, going, old)] == [True, False, False, True]
