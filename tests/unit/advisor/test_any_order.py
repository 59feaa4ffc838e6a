"""Whatever happens in whatever order, and wherever the operator dies: what always holds."""

from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from builders.examples import examples
from builders.worlds.advisor import DESCHEDULER, World
from trimtab.advisor.api import MANAGER, PlatformStatus, Taking
from trimtab.advisor.decide.conditions import PHASES, find
from trimtab.advisor.decide.history import MOST
from trimtab.advisor.decide.situation import Trouble, WaitForChange
from trimtab.advisor.plan.fields import is_kept
from trimtab.advisor.plan.pools import PoolHealth

HEALTH = {
    "ready": PoolHealth("ready", "ready"),
    "waiting": PoolHealth("waiting", "updating"),
    "blocked": PoolHealth("blocked", "paused"),
    "failed": PoolHealth("failed", "degraded"),
}
TROUBLES = (None, Trouble("prerequisite", "missing"), Trouble("generation", "refused"))


class AnyOrder(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    # The user

    @rule(action=st.sampled_from(["DryRun", "Apply", "Ignore", "Rollback"]))
    def act(self, action: Any) -> None:
        self.world.edit(action=action)

    @rule(interval=st.sampled_from([60, 900]), psi=st.booleans(), node=st.sampled_from([None, 2]))
    def choose(self, interval: int, psi: bool, node: int | None) -> None:
        self.world.options(interval, psi=psi, node=node)

    @rule(given=st.sampled_from(["", "this", "another"]))
    def approve(self, given: str) -> None:
        plans = {"": "", "this": self.world.config.status.plan_id, "another": "000000000000"}
        self.world.edit(approved_plan=plans[given])

    @rule(bypass=st.booleans(), policy=st.sampled_from(["Abort", "Continue"]))
    def be_strict_or_not(self, bypass: bool, policy: Any) -> None:
        self.world.edit(bypass_optimistic_lock=bypass, failure_policy=policy)

    @rule(limit=st.sampled_from(["", "30s"]))
    def be_patient_or_not(self, limit: str) -> None:
        self.world.edit(wait_timeout=limit)

    # Others

    @rule(field=st.sampled_from(["mode", "interval", "limit", "other"]), value=st.integers(0, 2))
    def write_by_hand(self, field: str, value: int) -> None:
        self.world.hand(field, value or None)

    @precondition(lambda self: DESCHEDULER in self.world.objects)
    @rule()
    def delete_by_hand(self) -> None:
        del self.world.objects[DESCHEDULER]

    @rule(limit=st.integers(5, 6), logic=st.sampled_from("ab"), version=st.sampled_from("12"))
    def change_inputs(self, limit: int, logic: str, version: str) -> None:
        self.world.limit, self.world.logic, self.world.version = limit, logic, version

    @rule(now=st.sampled_from(sorted(HEALTH)), later=st.sampled_from(sorted(HEALTH)))
    def roll_nodes(self, now: str, later: str) -> None:
        self.world.pool, self.world.after_apply = HEALTH[now], HEALTH[later]

    @rule(trouble=st.sampled_from(TROUBLES), refused=st.sampled_from(["", "422"]))
    def get_in_the_way(self, trouble: Trouble | None, refused: str) -> None:
        self.world.trouble, self.world.refused = trouble, refused

    @rule(rival=st.booleans())
    def claim(self, rival: bool) -> None:
        self.world.rivals = (Taking(field="spec.mode", manager="argocd"),) if rival else ()

    @rule(seconds=st.sampled_from([1, 31, 700]))
    def wait(self, seconds: int) -> None:
        self.world.later(seconds)

    # The operator

    @rule(steps=st.integers(1, 6))
    def live_and_die(self, steps: int) -> None:
        """It does a few steps, and what it had in mind is lost."""
        for _ in range(steps):
            self._step()

    @rule()
    def come_to_rest(self) -> None:
        for _ in range(60):
            if isinstance(self._step(), WaitForChange):
                break
        else:
            raise AssertionError(f"no end of steps in {self.world.phase}")
        before = self.world.statuses, len(self.world.writes)
        assert isinstance(self._step(), WaitForChange)
        assert (self.world.statuses, len(self.world.writes)) == before
        if self.world.phase == "Completed":
            for item in self.world.config.status.items:
                assert is_kept(item.desired_state, self.world.objects.get(item.target_ref))

    def _step(self) -> object:
        spec, written = self.world.config.spec, len(self.world.writes)
        status = self.world.config.status
        step = self.world.step()
        times_move_only_with_the_status(status, self.world.config.status)
        if len(self.world.writes) > written:
            assert status.phase in ("InProgress", "RollingBack")
            assert spec.action in ("Apply", "Rollback"), "it wrote without being asked"
            assert status.reverse == (spec.action == "Rollback")
            assert status.approval is not None
            # a remediation re-applies the plan that was approved for the baseline
            assert status.approval.plan_id == status.plan_id
            assert self.world.record.priors, "nothing is written that cannot be taken back"
        return step

    # What always holds

    @invariant()
    def one_phase_is_told(self) -> None:
        status = self.world.config.status
        if not status.phase:
            return
        true = {c.type for c in status.conditions if c.status == "True" and c.type in PHASES}
        also = {"Completed"} if status.phase == "CompletedWithUpgrade" else set()
        assert true == {status.phase} | also
        assert max(Counter(c.type for c in status.conditions).values()) == 1

    @invariant()
    def the_status_is_bounded_and_answers_a_spec_that_was(self) -> None:
        status = self.world.config.status
        assert len(status.history) <= MOST
        assert status.observed_generation <= self.world.config.metadata.generation

    @invariant()
    def what_was_taken_back_is_not_ours(self) -> None:
        if self.world.phase != "RolledBack":
            return
        assert self.world.record.priors == ()
        entries = self.world.objects.get(DESCHEDULER, {}).get("metadata", {})
        assert MANAGER not in {e["manager"] for e in entries.get("managedFields", ())}

    @invariant()
    def drift_is_told_when_it_is_drifted(self) -> None:
        status = self.world.config.status
        told = find(status, "Drifted")
        if status.phase == "Completed":
            assert told is not None
            assert told.status == "False"
            assert not any(item.drifted for item in status.items)


def times_move_only_with_the_status(before: PlatformStatus, after: PlatformStatus) -> None:
    for condition in after.conditions:
        old = find(before, condition.type)
        if old is not None:
            moved = old.last_transition_time != condition.last_transition_time
            assert not moved or old.status != condition.status


# each example is forty events
EXAMPLES = examples(15, full=100)
AnyOrder.TestCase.settings = settings(max_examples=EXAMPLES, stateful_step_count=40)
TestAnyOrder = AnyOrder.TestCase
