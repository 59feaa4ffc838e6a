"""Several people edit at random: nothing is written for a plan that none of them approved.

The oracle knows nothing of the operator's memory. It watches people's edits and what the status
showed at that moment, and then every write.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from builders.examples import examples
from builders.worlds.advisor import DESCHEDULER, World
from trimtab.advisor.api import LoadAwareOptions, Options
from trimtab.advisor.decide.situation import Trouble
from trimtab.advisor.plan.pools import PoolHealth

BUSY = ("InProgress", "RollingBack")
PEOPLE = st.sampled_from(["alice", "bob", "carol"])


class Oracle:
    """What was said yes to: plans by id, and "whatever comes first" with its options."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.named: set[str] = set()
        self.meant: set[str] = set()
        self.first: list[Options | None] = []
        self.plans: list[str] = []
        self.options: dict[str, Options | None] = {}
        self.started: list[str] = []
        self.yes = 0
        self.came_from = ""
        if world.config.spec.action == "Apply":
            self._turned()

    def edit(self, by: str, **change: Any) -> None:
        before = self.world.config.spec
        self.world.edit(by, **change)
        after = self.world.config.spec
        if after.approved_plan != before.approved_plan:
            self.named = {after.approved_plan} - {""}
            self.yes += bool(self.named)
        if after.action == "Apply" != before.action:
            self._turned()

    def _turned(self) -> None:
        self.yes += 1
        shown = self.world.config.status.plan_id
        if shown:
            self.meant.add(shown)
        else:
            self.first.append(self.world.config.spec.options)

    def step(self) -> None:
        written, before = len(self.world.writes), self.world.config.status
        self.world.step()
        after = self.world.config.status
        if after.plan_id and after.plan_id not in self.plans:
            self.plans.append(after.plan_id)
            self.options[after.plan_id] = after.applied_options
        if after.phase in BUSY and before.phase not in BUSY:
            self.came_from = before.phase
        if len(self.world.writes) > written and self.came_from:
            self._began(before.plan_id)

    def _began(self, plan: str) -> None:
        """The first write of a plan that was started, or that puts right what drifted."""
        if self.came_from == "Drifted":
            assert plan in self.started, f"{plan} is put right and was never approved"
        else:
            as_first = self.plans[0] == plan and self.options[plan] in self.first
            assert plan in self.named | self.meant or as_first, f"nobody approved {plan}"
            self.started.append(plan)
            assert len(self.started) <= self.yes, "an approval was used twice"
        self.came_from = ""


class SeveralPeople(RuleBasedStateMachine):
    @initialize(action=st.sampled_from(["DryRun", "Apply", "Ignore"]))
    def begin(self, action: Any) -> None:
        self.world = World(action)
        self.oracle = Oracle(self.world)

    @rule(by=PEOPLE, action=st.sampled_from(["DryRun", "Apply", "Apply", "Ignore", "Rollback"]))
    def act(self, by: str, action: Any) -> None:
        self.oracle.edit(by, action=action)

    @rule(by=PEOPLE, plan=st.integers(-2, 3))
    def name_a_plan(self, by: str, plan: int) -> None:
        """One that was shown once, the present one, or none."""
        shown = [self.world.config.status.plan_id, *self.oracle.plans, ""]
        self.oracle.edit(by, approved_plan=shown[plan % len(shown)])

    @rule(by=PEOPLE, interval=st.sampled_from([60, 900]), psi=st.booleans())
    def choose(self, by: str, interval: int, psi: bool) -> None:
        chosen = LoadAwareOptions(descheduling_interval_seconds=interval, enable_psi_metrics=psi)
        self.oracle.edit(by, options=Options(load_aware=chosen))

    @rule(by=PEOPLE, policy=st.sampled_from(["Abort", "Continue"]), bypass=st.booleans())
    def edit_something_else(self, by: str, policy: Any, bypass: bool) -> None:
        self.oracle.edit(by, failure_policy=policy, bypass_optimistic_lock=bypass)

    @rule(limit=st.integers(5, 6), logic=st.sampled_from("ab"), gone=st.booleans())
    def change_the_cluster(self, limit: int, logic: str, gone: bool) -> None:
        self.world.limit, self.world.logic = limit, logic
        self.world.trouble = Trouble("prerequisite", "missing") if gone else None

    @rule(field=st.sampled_from(["mode", "interval"]), value=st.integers(0, 2))
    def write_by_hand(self, field: str, value: int) -> None:
        self.world.hand(field, value or None)

    @precondition(lambda self: DESCHEDULER in self.world.objects)
    @rule()
    def delete_by_hand(self) -> None:
        del self.world.objects[DESCHEDULER]

    @rule(state=st.sampled_from(["ready", "waiting", "failed"]))
    def roll_nodes(self, state: Any) -> None:
        self.world.pool = self.world.after_apply = PoolHealth(state, state)

    @rule(steps=st.sampled_from([1, 3, 25]))
    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.oracle.step()


# each example is fifty events
EXAMPLES = examples(25, full=300)
SeveralPeople.TestCase.settings = settings(max_examples=EXAMPLES, stateful_step_count=50)
TestSeveralPeople = SeveralPeople.TestCase
