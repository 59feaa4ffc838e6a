"""A cycle that can be tried again with one thing changed, cheaply where only the policy changes."""

from copy import copy

from msgspec import Struct
from msgspec.structs import replace

from trimtab.errors import ConfigError
from trimtab.model.snapshot import QueryResult, Snapshot
from trimtab.policy.choices import Answers
from trimtab.policy.cycle import Cycle, PluginRun, Reason
from trimtab.policy.decision import decide
from trimtab.policy.file.settings import Policy
from trimtab.policy.inflight import InFlight
from trimtab.policy.numbers import NotANumberError
from trimtab.policy.snapshot_view import SnapshotView, inflight_of, policy_of
from trimtab.truth.explain.outcome_texts import answers_of


class Trial(Struct, frozen=True, eq=False):
    """One snapshot, read once."""

    snapshot: Snapshot
    policy: Policy
    view: SnapshotView
    inflight: InFlight
    answer: Answers

    def cycle(self) -> Cycle:
        """The cycle; a NaN sample, which differs between processors, is told as a failure (P8)."""
        try:
            return self._decide()
        except NotANumberError:
            text = "a sample is NaN: what follows depends on the processor"
            names = self.view.selected(self.policy.node_selector).names
            runs = tuple(
                PluginRun(profile=profile.name, plugin=name, error=Reason("P8", text))
                for profile in self.policy.profiles
                for name, _ in profile.plugins
            )
            return Cycle(nodes=names, runs=runs, unmodelled=self.policy.unmodelled)

    def evictions(self) -> int:
        try:
            return len(self._decide().evictions)
        except NotANumberError:
            return 0

    def _decide(self) -> Cycle:
        return decide(
            self.view,
            self.policy,
            self.inflight,
            background=self.snapshot.evictions_in_background,
            answer=self.answer,
        )

    def with_policy(self, policy: Policy) -> "Trial":
        return Trial(self.snapshot, policy, self.view, self.inflight, self.answer)

    def with_query(self, query: QueryResult) -> "Trial":
        """Other samples; pods and nodes need not be read again."""
        snapshot = replace(self.snapshot, query=query)
        view = copy(self.view)
        view._snapshot = snapshot
        return Trial(snapshot, self.policy, view, self.inflight, self.answer)


def read_trial(snapshot: Snapshot) -> Trial:
    """A snapshot from scratch; a ConfigError if the descheduler would refuse its policy."""
    return Trial(
        snapshot,
        policy_of(snapshot),
        SnapshotView(snapshot),
        inflight_of(snapshot),
        answers_of(snapshot),
    )


def evictions_after(snapshot: Snapshot) -> int:
    """How many pods a changed snapshot evicts; 0 if its policy would be refused."""
    try:
        return read_trial(snapshot).evictions()
    except ConfigError:
        return 0
