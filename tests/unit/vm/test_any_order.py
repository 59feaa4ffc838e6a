"""Whatever happens, in whatever order, seen however late: no VM is lost, no mark, no pod leaks.

Hypothesis plays everybody else: scheduler, kubelet, webhook, people, and a controller that
dies. `World` judges every write against the truth; in the end everything must come to rest
in the one right state.
"""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from builders.examples import FULL, examples
from builders.worlds.vm import World
from builders.worlds.vm_cluster import NODES
from trimtab.kube.virtual_machines import EVICTION_IN_PROGRESS, GUARD_LABEL, MIGRATION_LABEL
from trimtab.virt.migration_backoff import FINISHED_KEPT
from trimtab.vm.decide.situation import is_over, is_running
from trimtab.vm.settings import VmControllerSettings

many = settings(
    max_examples=examples(25, full=600),
    stateful_step_count=50 if FULL else 30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


class AnyOrder(RuleBasedStateMachine):
    @initialize(mode=st.sampled_from(["live", "recreate"]))
    def begin(self, mode: str) -> None:
        self.world = World(VmControllerSettings(mode=mode))  # type: ignore[arg-type]
        self.asked = 0

    @rule(data=st.data(), turns=st.integers(1, 6))
    def the_controller_works(self, data: st.DataObject, turns: int) -> None:
        for _ in range(turns):
            self.world.turn(lambda n: data.draw(st.integers(0, n - 1)))

    @rule(rounds=st.integers(1, 12), copied=st.booleans())
    def all_goes_well_for_a_while(self, rounds: int, copied: bool) -> None:
        self.world.forget_writes()
        for _ in range(rounds):
            self.world.turn()
            self.world.schedule(lambda _: 0)
            self.world.kubelets()
            if copied:
                self.memory_is_copied()

    @rule(rounds=st.integers(1, 9), copied=st.booleans())
    def it_is_evacuated(self, rounds: int, copied: bool) -> None:
        self.all_goes_well_for_a_while(6, copied=False)
        if self.world.active is not None and self.world.active in self.world.alive():
            self.world.evict(self.world.active)
        self.all_goes_well_for_a_while(rounds, copied=copied)

    @rule(lags=st.tuples(*[st.sampled_from([0, 0, 2, 4, 6, 9])] * 3), turns=st.integers(1, 3))
    def another_controller_takes_over_and_sees_little(
        self, lags: tuple[int, int, int], turns: int
    ) -> None:
        """Its stores are as old as the last few changes, each as many as it may be."""
        newest = len(self.world.history) - 1
        for kind, lag in zip(self.world.seen, lags, strict=True):
            self.world.seen[kind] = max(0, newest - lag)
        for _ in range(turns):
            self.world.turn(lambda _: 0)

    @rule()
    def the_controller_dies(self) -> None:
        self.world.forget_writes()

    @rule(data=st.data())
    def the_scheduler_works(self, data: st.DataObject) -> None:
        self.world.schedule(lambda n: data.draw(st.integers(0, n - 1)))

    @rule()
    def the_kubelets_work(self) -> None:
        self.world.kubelets()

    @rule()
    def memory_is_copied(self) -> None:
        self.world.copied |= {each.metadata.name for each in self.world.unfinished()}

    @rule(seconds=st.sampled_from([1.0, 30.0, 400.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    @precondition(lambda self: self.world.alive())
    @rule(data=st.data())
    def a_pod_is_evicted(self, data: st.DataObject) -> None:
        self.world.evict(data.draw(st.sampled_from(self.world.alive())))

    @precondition(lambda self: self.world.alive())
    @rule(data=st.data(), how=st.sampled_from(["fails", "is deleted", "is deleted by force"]))
    def a_pod(self, data: st.DataObject, how: str) -> None:
        pod = data.draw(st.sampled_from(self.world.alive()))
        if how == "fails":
            self.world.end_pod(pod)
        else:
            self.world.delete_pod(pod, grace_s=0 if how == "is deleted by force" else 1)

    @rule(node=st.sampled_from(NODES))
    def a_node_is_cordoned_or_not(self, node: str) -> None:
        self.world.nodes ^= {node}

    @rule(running=st.booleans())
    def somebody_stops_or_starts_it(self, running: bool) -> None:
        if self.world.vm.spec.running != running:
            self.world.set_spec(running=running)

    @precondition(lambda self: self.asked < 8)
    @rule(node=st.sampled_from(["", *NODES]), force=st.booleans())
    def somebody_asks_to_migrate(self, node: str, force: bool) -> None:
        self.asked += 1
        self.world.ask_to_migrate(f"m{self.asked}", target_node=node, force=force and bool(node))

    @precondition(lambda self: self.world.unfinished())
    @rule(data=st.data())
    def somebody_deletes_a_migration(self, data: st.DataObject) -> None:
        migration = data.draw(st.sampled_from(self.world.unfinished()))
        self.world.remove_migration(migration.metadata.name)

    @rule(node=st.sampled_from(NODES))
    def somebody_cancels(self, node: str) -> None:
        self.world.ask_to_cancel(self.world.mark or node)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        world = self.world
        world.nodes = set(NODES)
        world.settle()
        assert len(world.truth.migrations) <= FINISHED_KEPT
        assert world.unfinished() == []
        assert world.mark == ""
        if not world.vm.spec.running:
            assert world.truth.pods == {}
            assert world.vm.status.phase == "Stopped"
            return
        (pod,) = world.truth.pods.values()
        assert pod is world.active
        assert is_running(pod)
        assert not is_over(pod)
        status = world.vm.status
        assert (status.phase, status.node_name) == ("Running", pod.spec.node_name)
        assert status.migration_name == ""
        assert pod.metadata.labels[GUARD_LABEL] == "true"
        assert MIGRATION_LABEL not in pod.metadata.labels
        assert EVICTION_IN_PROGRESS not in pod.metadata.annotations
        assert len(status.conditions) == 2


AnyOrder.TestCase.settings = many
TestAnyOrder = AnyOrder.TestCase
