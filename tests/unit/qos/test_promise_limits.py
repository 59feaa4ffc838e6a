"""Who may promise how much, and the sentence that says no."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.values.qos import World, a_life_pod
from trimtab.kube.http.callers import Callers
from trimtab.kube.resources import Namespace, ObjectMeta
from trimtab.qos.page.answers import as_row
from trimtab.qos.promise import ANNOTATION as SLO
from trimtab.qos.promise import CEILING, Ask, Promised, PromiseLimits, ceiling_of, refusal
from trimtab.qos.queue.overbooking import PromisedCores
from trimtab.qos.service.webhook import PodAdmissionRequest, StampingWebhook
from trimtab.qos.settings import QosSettings

WEB = Ask("Deployment team-a/web", "team-a", 0.99, 2.0)
ROOM = Promised(30.0, 40.0)


@pytest.mark.parametrize(
    ("annotations", "ceiling"),
    [
        pytest.param({}, 0.9, id="the default"),
        pytest.param({CEILING: "0.5"}, 0.5, id="lower in this namespace"),
        pytest.param({CEILING: "99%"}, 0.99, id="higher, in percent"),
        pytest.param({CEILING: "a lot"}, 0.9, id="unreadable: the default"),
    ],
)
def test_a_namespace_has_its_own_ceiling(annotations: dict[str, str], ceiling: float) -> None:
    assert ceiling_of(annotations, PromiseLimits(highest_slo=0.9)) == ceiling


def test_a_promise_above_the_ceiling_is_named_with_who_how_much_and_whom_to_ask() -> None:
    why = refusal(WEB, 0.95, ROOM, PromiseLimits(contact="the platform team"))
    assert why == (
        "Deployment team-a/web asks for an SLO of 0.99; namespace team-a may promise 0.95 at "
        "most. Lower it, or ask the platform team"
    )


def test_a_promise_beyond_the_budget_says_what_is_promised_already() -> None:
    why = refusal(WEB, 1.0, ROOM, PromiseLimits(budget=0.75, contact="the platform team"))
    assert why is not None
    assert "asks for 1.98 cores (0.99 of 2); 30 of the 30 that may be promised are" in why
    assert why.endswith("or ask the platform team")


def test_without_limits_nothing_is_refused() -> None:
    assert refusal(WEB, 1.0, Promised(500.0, 40.0), PromiseLimits()) is None


@given(
    asks=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 8)), max_size=40),
    budget=st.floats(0.1, 2),
)
def test_what_is_let_in_never_exceeds_the_budget(
    asks: list[tuple[float, float]], budget: float
) -> None:
    """An independent sum over whatever was admitted, in any order."""
    admitted: list[tuple[float, float]] = []
    for slo, cores in asks:
        promised = Promised(sum(s * c for s, c in admitted), 10.0)
        if refusal(Ask("w", "n", slo, cores), 1.0, promised, PromiseLimits(budget=budget)) is None:
            admitted.append((slo, cores))
    assert sum(slo * cores for slo, cores in admitted) <= budget * 10.0 + 1e-6


def a_world(*, enforced: bool) -> World:
    limits = PromiseLimits(highest_slo=0.9, enforced=enforced, contact="ops")
    world = World(QosSettings(limits=limits))
    meta = ObjectMeta(name="default", annotations={CEILING: "0.95"})
    world.stores.namespaces.store.put(Namespace(metadata=meta))
    return world


def answer(world: World, slo: str, *, dry_run: bool = False) -> dict[str, object]:
    pod = a_life_pod("p", created=0, annotations={SLO: slo})
    webhook = StampingWebhook(
        world.stamper,
        PromisedCores(world.tracker),
        Callers(),
        enforced=world.settings.limits.enforced,
    )
    asked = PodAdmissionRequest("u", "default", dry_run, pod)
    found: dict[str, object] = webhook._answer(asked)["response"]
    return found


async def test_until_it_is_enforced_a_high_promise_is_created_with_a_warning() -> None:
    response = answer(a_world(enforced=False), "0.99")
    assert response["allowed"] is True
    assert "namespace default may promise 0.95 at most" in str(response["warnings"])


async def test_enforced_it_is_refused_with_the_sentence() -> None:
    response = answer(a_world(enforced=True), "0.99")
    assert response["allowed"] is False
    assert "ask ops" in str(response["status"])
    assert answer(a_world(enforced=True), "0.95")["allowed"] is True


async def test_enforced_a_promise_changed_later_is_capped() -> None:
    """Whoever edits the annotation of a pod that exists gets no more than the ceiling."""
    for enforced, slo in ((True, 0.95), (False, 0.99)):
        world = a_world(enforced=enforced)
        world.put(a_life_pod("p", created=0, annotations={SLO: "0.99"}))
        (view,) = world.accounts.all(world.now())
        row = as_row(view, world.tracker.ceiling(view.owner))
        assert (row.slo, row.above_ceiling) == (slo, not enforced)
        assert row.ceiling == 0.95


async def test_a_pod_that_may_never_exist_complains_to_nobody() -> None:
    world = World()
    answer(world, "bad", dry_run=True)
    answer(world, "bad")
    assert not world.tracker.complaints
    world.put(a_life_pod("p", created=0, annotations={SLO: "bad"}))
    world.accounts.all(world.now())
    assert len(world.tracker.complaints) == 1
