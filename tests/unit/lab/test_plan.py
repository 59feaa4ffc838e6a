"""Plans: what stacks may add, and in which order units stop."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.labs.lab import a_spec
from trimtab.errors import ConfigError
from trimtab.lab.components.component import Component, LabPlan, RequestTokens, SupervisorTask
from trimtab.lab.components.identity import ServiceIdentity
from trimtab.lab.components.stack import NONE, Lab, Stack, StackContribution, choose
from trimtab.lab.plan import OBJECTS_FILE, Blueprint, check_plan, draw
from trimtab.lab.supervisor.repair import stop_waves


def a_component(name: str, *needs: str) -> Component:
    return Component(name=name, argv=(name,), needs=needs)


def drawn_with(contribution: StackContribution) -> Blueprint:
    lab = Lab(Path("/lab"), a_spec(), Path("/engines").joinpath)
    return draw(lab, (NONE, Stack(name="more", contribute=lambda _lab: contribution)), None)


def test_a_stack_adds_components_and_replaces_those_of_the_same_name() -> None:
    added, replacing = a_component("more", "tokens"), a_component("kube-scheduler")
    service = ServiceIdentity("watcher")
    components = {
        component.name: component
        for component in drawn_with(
            StackContribution(components=(added, replacing), services=(service,))
        ).plan.components
    }
    assert components["more"] == added
    assert components["kube-scheduler"] == replacing


def test_a_service_gets_an_account_a_token_and_the_task_that_fetches_it() -> None:
    blueprint = drawn_with(StackContribution(services=(ServiceIdentity("watcher", 600, 1.5),)))
    (token,) = blueprint.plan.tokens
    assert (token.service, token.file, token.renew_after_s) == ("watcher", "pki/watcher.token", 1.5)
    assert (
        SupervisorTask(name="tokens", action=RequestTokens(), needs=("objects",))
        in blueprint.plan.tasks
    )
    assert '"name": "watcher"' in blueprint.files[OBJECTS_FILE]


def test_objects_of_stacks_come_after_the_labs_own() -> None:
    thing: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "zz"}}
    text = drawn_with(StackContribution(objects=(thing,))).files[OBJECTS_FILE]
    assert text.index("trimtab-system") < text.index('"zz"')


def test_an_unknown_stack_is_an_error_that_says_so() -> None:
    with pytest.raises(ConfigError, match='no stack "loop"; it has none'):
        choose(("loop",), {"none": NONE})


@pytest.mark.parametrize(
    ("units", "message"),
    [
        pytest.param([a_component("a", "b")], "never starts: a", id="a need that is not there"),
        pytest.param(
            [a_component("a", "b"), a_component("b", "a")], "never starts: a, b", id="a circle"
        ),
        pytest.param([a_component("a"), a_component("a")], "same name", id="a name twice"),
    ],
)
def test_plans_that_cannot_start_are_refused(units: list[Component], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_plan(LabPlan(server="", components=tuple(units)))


@st.composite
def plans(draw: st.DrawFn) -> LabPlan:
    """Components that need only earlier ones, so there is no circle."""
    count = draw(st.integers(1, 12))
    return LabPlan(
        server="",
        components=tuple(
            a_component(
                str(n), *map(str, draw(st.sets(st.integers(0, n - 1)) if n else st.just(set())))
            )
            for n in range(count)
        ),
    )


@given(plans())
def test_nobody_stops_before_those_who_need_it(plan: LabPlan) -> None:
    waves = stop_waves(check_plan(plan))
    wave_of = {name: number for number, wave in enumerate(waves) for name in wave}
    assert wave_of.keys() == plan.units.keys()
    for name, unit in plan.units.items():
        assert all(wave_of[name] < wave_of[needed] for needed in unit.needs)
