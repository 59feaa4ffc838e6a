"""One observation, one decision: when the balancer moves, waits, pauses, and what it records."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders.worlds.balancer import (
    ACT,
    LEVEL,
    MOMENT,
    NOW,
    a_cluster,
    a_migration,
    a_move,
    a_plan,
    a_situation,
    proposed,
)
from trimtab.balance.problem import Problem
from trimtab.balancer.decide import Decision, decide
from trimtab.balancer.next_move import StartMove
from trimtab.balancer.settings import Limits
from trimtab.balancer.situation import MigrationSeen
from trimtab.balancer.wire import (
    ACKNOWLEDGED,
    Mode,
    MoveOutcome,
    MoveStatus,
    PlannedMove,
    PlanPhase,
    RebalancePlan,
    RebalancePlanStatus,
    migration_name,
)
from trimtab.errors import ConfigError


def the_record(made: Decision) -> RebalancePlanStatus:
    (status,) = made.records.values()
    return status


def test_a_level_cluster_is_left_alone() -> None:
    made = decide(a_situation(LEVEL))
    assert (made.create, made.start, made.pause) == (None, None, None)
    assert made.text == "level: no node is above the band"


def test_a_hot_node_gives_a_plan_with_one_move_out_of_it() -> None:
    made = decide(a_situation())
    assert made.create is not None
    assert [move.source for move in made.create.moves] == ["n0"]
    assert made.create.mode == "act"
    assert made.create.approved


def test_a_proposal_holds_the_whole_way_to_level_and_waits_for_approval() -> None:
    made = decide(a_situation(settings=replace(ACT, mode="propose")))
    assert made.create is not None
    assert len(made.create.moves) > 1
    assert not made.create.approved


@pytest.mark.parametrize(
    ("rounds", "planned"),
    [
        pytest.param((True, True), False, id="two rounds are not three"),
        pytest.param((True, False, True, False, True), True, id="three of five, with gaps"),
        pytest.param(
            (True, True, False, False, False, False, True), False, id="old ones count no more"
        ),
    ],
)
def test_something_must_be_to_do_for_k_of_n_rounds(rounds: tuple[bool, ...], planned: bool) -> None:
    settings = replace(ACT, limits=Limits(hold=3, hold_of=5))
    assert (decide(a_situation(settings=settings, to_do=rounds)).create is not None) == planned


def test_overload_does_not_wait() -> None:
    hot = a_cluster([0.5, 0.25, 0.2], [0.1], [0.1])
    settings = replace(ACT, limits=Limits(hold=3, hold_of=5))
    assert decide(a_situation(hot, settings, to_do=(True,))).create is not None


def test_the_first_move_of_a_plan_begins_and_is_not_recorded_before_it_is_seen() -> None:
    plan = proposed(a_move())
    made = decide(a_situation(plans=(plan,)))
    assert made.start is not None
    assert made.start.move.vm == "d/a0"
    assert [move.outcome for move in the_record(made).moves] == ["Waiting"]


def test_a_migration_that_a_killed_balancer_created_is_found_by_its_name() -> None:
    plan = proposed(a_move())
    own = a_migration("d/a0", "n0", "n1", name=migration_name(plan.spec.plan_id, "d/a0"), plan="p")
    made = decide(a_situation(plans=(plan,), migrations=(own,)))
    assert made.start is None
    assert the_record(made).moves[0].outcome == "Running"


def test_a_plan_ends_with_what_it_brought_and_where_the_scheduler_put_the_vm() -> None:
    plan = proposed(a_move())
    name = migration_name(plan.spec.plan_id, "d/a0")
    done = a_migration(
        "d/a0", "n0", "n2", name=name, plan="p", copying=NOW - 8.0, ended=NOW - 2.0, succeeded=True
    )
    made = the_record(decide(a_situation(LEVEL, plans=(plan,), migrations=(done,))))
    assert (made.phase, made.moved, made.gained) == ("Completed", "1/1", 40.0)
    assert (made.moves[0].node, made.moves[0].actual_seconds) == ("n2", 6.0)


def test_a_plan_whose_moves_all_failed_has_failed() -> None:
    plan = proposed(a_move())
    name = migration_name(plan.spec.plan_id, "d/a0")
    failed = a_migration("d/a0", "n0", "n1", name=name, ended=NOW - 1.0, reason="no room")
    made = the_record(decide(a_situation(plans=(plan,), migrations=(failed,))))
    assert (made.phase, made.moves[0].reason) == ("Failed", "no room")


@pytest.mark.parametrize(
    ("move", "why"),
    [
        pytest.param(a_move("d/x"), "the VM does not run any more", id="the VM is gone"),
        pytest.param(a_move(source="n2"), "the VM is not on n2 any more", id="it moved away"),
        pytest.param(a_move(target="n9"), "there is no node n9 any more", id="the node is gone"),
        pytest.param(a_move("d/b0", "n1", "n0"), "it would bring nothing any more", id="no gain"),
    ],
)
def test_a_move_that_makes_no_sense_any_more_is_skipped(move: PlannedMove, why: str) -> None:
    made = decide(a_situation(plans=(proposed(move),)))
    assert made.start is None
    assert (the_record(made).moves[0].outcome, the_record(made).moves[0].reason) == ("Skipped", why)


def test_what_an_act_plan_has_not_begun_within_one_interval_is_planned_anew() -> None:
    plan = replace(proposed(a_move()), status=RebalancePlanStatus(phase="Running"))
    made = decide(a_situation(plans=(plan,), times={plan.metadata.name: NOW - 16.0}))
    assert made.start is None
    assert the_record(made).moves[0].outcome == "Skipped"


def test_on_a_slow_computer_a_plan_begins_at_the_first_look_at_it() -> None:
    plan = proposed(a_move())
    made = decide(a_situation(plans=(plan,), times={plan.metadata.name: NOW - 16.0}))
    assert made.start is not None


def test_an_approved_plan_may_be_older_because_each_move_is_checked_again() -> None:
    plan = proposed(a_move(), mode="propose")
    made = decide(a_situation(plans=(plan,), times={plan.metadata.name: NOW - 900.0}))
    assert made.start is not None


def test_approval_of_another_plan_is_no_approval() -> None:
    plan = proposed(a_move(), mode="propose", approved=False)
    other = replace(plan, spec=replace(plan.spec, approved_plan="0" * 16))
    made = decide(a_situation(plans=(other,)))
    assert made.start is None
    assert the_record(made).phase == "Proposed"


def test_in_observe_not_even_an_approved_plan_is_carried_out() -> None:
    plan = proposed(a_move(), mode="propose")
    made = decide(a_situation(plans=(plan,), settings=replace(ACT, mode="observe")))
    assert made.start is None
    assert the_record(made).reason == "Observing"


def test_a_shadow_plan_expires_with_an_account_of_what_others_did() -> None:
    plan = proposed(a_move(), mode="observe", approved=False)
    others = a_migration("d/b0", "n1", "n2", begun=NOW - 100.0, ended=NOW - 50.0, succeeded=True)
    settings = replace(ACT, mode="observe")
    made = decide(
        a_situation(
            plans=(plan,),
            settings=settings,
            migrations=(others,),
            times={plan.metadata.name: NOW - 1800.0},
        )
    )
    assert (the_record(made).phase, the_record(made).moves_by_others) == ("Expired", 1)


def test_a_cancelled_plan_withdraws_what_runs_and_begins_nothing() -> None:
    plan = proposed(a_move(), a_move("d/a1"))
    name = migration_name(plan.spec.plan_id, "d/a0")
    plan = replace(plan, spec=replace(plan.spec, cancelled=True))
    running = a_migration("d/a0", "n0", "n1", name=name, plan="p")
    made = decide(a_situation(plans=(plan,), migrations=(running,)))
    assert made.start is None
    assert [move.migration for move in made.withdraw] == [name]
    assert [move.outcome for move in the_record(made).moves] == ["Running", "Cancelled"]


def test_one_vm_leaves_a_node_at_a_time_and_one_arrives() -> None:
    plan = proposed(a_move("d/a1", "n0", "n2"), mode="propose")
    for busy in (a_migration("d/a0", "n0", "n1"), a_migration("d/b0", "n1", "n2")):
        assert decide(a_situation(plans=(plan,), migrations=(busy,))).start is None


def test_what_waits_for_others_is_not_called_hopeless() -> None:
    busy = a_migration("d/a0", "n0", "n1")
    made = decide(a_situation(migrations=(busy,)))
    assert made.create is None
    assert made.text == "above the band; what may help waits for migrations under way"


def test_slots_are_left_to_drains() -> None:
    many = [a_migration(f"x/{at}", "elsewhere", "") for at in range(3)]
    plan = proposed(a_move(), mode="propose")
    assert decide(a_situation(plans=(plan,), migrations=tuple(many[:2]))).start is not None
    assert decide(a_situation(plans=(plan,), migrations=tuple(many))).start is None


def test_a_share_of_all_vms_is_moved_in_an_hour() -> None:
    settings = replace(ACT, limits=Limits(hold=1, hold_of=1, per_hour=10.0))
    ours = a_migration("x/y", "n1", "n2", begun=NOW - 1800.0, ended=NOW - 1790.0, plan="p")
    assert decide(a_situation(settings=settings)).create is not None
    assert decide(a_situation(settings=settings, migrations=(ours,))).create is None


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        pytest.param({"loads_age_s": 181.0}, "StaleMetrics", id="stale metrics"),
        pytest.param({"loads_age_s": float("inf")}, "StaleMetrics", id="no metrics at all"),
        pytest.param({"draining": ("n2",)}, "Drain", id="a drain"),
        pytest.param({"troubled": 1}, "ApiTrouble", id="the API did not answer"),
        pytest.param(
            {"second_balancer": "configmap a/b"}, "SecondBalancer", id="a second balancer"
        ),
    ],
)
def test_it_pauses_by_itself_and_says_how_it_goes_on(known: dict[str, Any], reason: str) -> None:
    plan = proposed(a_move())
    made = decide(a_situation(plans=(plan,), **known))
    assert made.pause is not None
    assert (made.start, made.pause.reason) == (None, reason)
    assert (the_record(made).phase, the_record(made).reason) == ("Paused", reason)
    assert decide(a_situation(**known)).create is None


def test_beside_the_descheduler_it_acts_if_told_so() -> None:
    settings = replace(ACT, beside_descheduler=True)
    assert decide(a_situation(settings=settings, second_balancer="x")).create is not None


def over(
    number: int, outcome: MoveOutcome, gained: float, phase: PlanPhase = "Completed"
) -> RebalancePlan:
    plan = proposed(a_move(f"x/{number}"))
    status = RebalancePlanStatus(
        phase=phase,
        gained=gained,
        moves=(MoveStatus(vm=f"x/{number}", outcome=outcome),),
    )
    return replace(plan, status=status)


def test_it_pauses_when_gains_fail_to_come_twice_and_only_then() -> None:
    missed, met = over(1, "Succeeded", 5.0), over(2, "Succeeded", 19.0)
    assert decide(a_situation(plans=(missed,))).pause is None
    assert decide(a_situation(plans=(missed, met))).pause is None
    made = decide(a_situation(plans=(missed, over(3, "Succeeded", -3.0))))
    assert made.pause is not None
    assert made.pause.reason == "GainsMissed"
    assert "trimtab balance resume" in made.pause.resume


def test_it_pauses_after_failures_until_somebody_has_seen_them() -> None:
    failed = tuple(over(at, "Failed", 0.0, "Failed") for at in range(3))
    made = decide(a_situation(plans=failed))
    assert made.pause is not None
    assert made.pause.reason == "Failures"
    seen = replace(
        failed[0], metadata=replace(failed[0].metadata, annotations={ACKNOWLEDGED: "true"})
    )
    assert decide(a_situation(plans=(seen, *failed[1:]))).pause is None


def test_a_vm_does_not_go_back_to_a_node_that_it_left() -> None:
    back = a_migration("d/a0", "n1", "n0", begun=NOW - 7200.0, ended=NOW - 7190.0, succeeded=True)
    plan = proposed(a_move("d/a0", "n0", "n1"), mode="propose")
    made = decide(a_situation(plans=(plan,), migrations=(back,)))
    assert made.start is None
    undoing = replace(plan, spec=replace(plan.spec, undoes="plan-x"))
    assert decide(a_situation(plans=(undoing,), migrations=(back,))).start is not None


def test_the_rest_after_a_migration_doubles() -> None:
    def moved(ago_s: float, number: int) -> MigrationSeen:
        return a_migration(
            "d/a0", "n9", "n0", name=f"m{number}", begun=NOW - ago_s - 10, ended=NOW - ago_s
        )

    plan = proposed(a_move(), mode="propose")
    once, twice = (moved(1000.0, 1),), (moved(1000.0, 1), moved(5000.0, 2))
    assert decide(a_situation(plans=(plan,), migrations=once)).start is not None
    assert decide(a_situation(plans=(plan,), migrations=twice)).start is None


def test_the_second_move_of_a_chain_waits_for_the_first() -> None:
    plan = proposed(a_move("d/b0", "n1", "n2", chain=1), a_move("d/a0", "n0", "n1", chain=1))
    first = decide(a_situation(plans=(plan,)))
    assert first.start is not None
    assert first.start.move.vm == "d/b0"
    under_way = a_migration(
        "d/b0", "n1", "n2", name=migration_name(plan.spec.plan_id, "d/b0"), plan="p"
    )
    assert decide(a_situation(plans=(plan,), migrations=(under_way,))).start is None
    failed = replace(under_way, ended=NOW - 1.0)
    made = decide(a_situation(plans=(plan,), migrations=(failed,)))
    assert [move.outcome for move in the_record(made).moves] == ["Failed", "Skipped"]


def test_limits_that_leave_nothing_are_refused() -> None:
    with pytest.raises(ConfigError, match="leaves no migration"):
        Limits(parallel=2, kept_free=2)
    with pytest.raises(ConfigError, match="cannot be more than"):
        Limits(hold=4, hold_of=3)


hot = st.lists(st.floats(0.08, 0.15), min_size=4, max_size=6)
cold = st.lists(st.floats(0.01, 0.05), min_size=1, max_size=2)
clusters = st.lists(st.one_of(hot, cold), min_size=4, max_size=12)


@given(
    loads=clusters,
    mode=st.sampled_from(["act", "propose"]),
    ends=st.lists(st.integers(0, 3), min_size=10, max_size=40),
)
def test_whatever_happens_no_limit_is_broken_and_no_vm_is_moved_twice(
    loads: list[list[float]], mode: Mode, ends: list[int]
) -> None:
    """A cluster whose plans are approved at once; in each round the oldest migrations end."""
    problem, settings, now = a_cluster(*loads), replace(ACT, mode=mode), NOW
    plans: dict[str, RebalancePlan] = {}
    times: dict[str, float] = {}
    migrations: dict[str, MigrationSeen] = {}
    for over in ends:
        now += 5.0
        problem, migrations = _ended(problem, migrations, now, over)
        made = decide(
            a_situation(
                problem,
                settings,
                now=now,
                moment=MOMENT + timedelta(seconds=now - NOW),
                plans=tuple(plans.values()),
                times=times,
                migrations=tuple(migrations.values()),
            )
        )
        for name, status in made.records.items():
            plans[name] = replace(plans[name], status=status)
        if made.create is not None:
            plan = a_plan(replace(made.create, approved_plan=made.create.plan_id))
            plans[plan.metadata.name], times[plan.metadata.name] = plan, now
        if made.start is not None:
            begun = _begun(made.start, now)
            assert begun.vm not in {each.vm for each in migrations.values()}
            migrations[begun.name] = begun
        _check_limits([each for each in migrations.values() if each.ended is None])


def _begun(start: StartMove, now: float) -> MigrationSeen:
    move, identity = start.move, start.plan.spec.plan_id
    return MigrationSeen(
        name=migration_name(identity, move.vm),
        vm=move.vm,
        source=move.source,
        target=move.target,
        begun=now,
        plan=start.plan.metadata.name,
    )


def _check_limits(under_way: list[MigrationSeen]) -> None:
    assert len(under_way) <= ACT.limits.parallel - ACT.limits.kept_free
    assert len({each.source for each in under_way}) == len(under_way)
    assert len({each.target for each in under_way}) == len(under_way)


def _ended(
    problem: Problem, migrations: dict[str, MigrationSeen], now: float, count: int
) -> tuple[Problem, dict[str, MigrationSeen]]:
    """The oldest migrations under way have succeeded."""
    where, after = problem.where.copy(), dict(migrations)
    for each in [m for m in migrations.values() if m.ended is None][:count]:
        where[problem.vms.index(each.vm)] = problem.nodes.index(each.target)
        after[each.name] = replace(each, ended=now, succeeded=True)
    return replace(problem, where=where), after
