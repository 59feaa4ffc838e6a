"""The CustomResourceDefinition of RebalancePlan."""

from math import inf

from trimtab.balancer.wire import MOST_MOVES, REBALANCE_PLANS
from trimtab.install.definitions import Note, Notes, Schema, column, definition

_FIXED = ("mode", "planId", "madeAt", "moves", "excessBefore", "excessAfter", "undoes")


def crds() -> list[Schema]:
    columns = [
        column("Mode", ".spec.mode"),
        column("Phase", ".status.phase"),
        column("Moved", ".status.moved"),
        column("Excess", ".spec.excessBefore", "number"),
        column("Planned", ".spec.excessAfter", "number"),
        column("Now", ".status.excessNow", "number", wide=True),
        column("Reason", ".status.reason", wide=True),
        column("Age", ".metadata.creationTimestamp", "date"),
    ]
    return [definition(REBALANCE_PLANS, _notes(), short=["rbp"], columns=columns)]


def _notes() -> Notes:
    return {
        "spec": Note(required=True, rules=_spec_rules()),
        "spec.mode": Note("Who carries it out: nobody, after approval, at once.", required=True),
        "spec.planId": Note(
            "A hash of mode, time and moves: what approval refers to.",
            least=1,
            most=64,
            required=True,
        ),
        "spec.madeAt": Note("When the cluster was looked at."),
        "spec.moves": Note("Migrations in their order.", most=MOST_MOVES, required=True),
        "spec.moves[].vm": Note(
            "Namespace and name.", least=3, most=320, pattern="^[^/]+/[^/]+$", required=True
        ),
        "spec.moves[].source": Note("The node it leaves.", most=253, required=True),
        "spec.moves[].target": Note(
            "The node it should go to; the scheduler decides.", most=253, required=True
        ),
        "spec.moves[].goal": Note("What the move is for."),
        "spec.moves[].why": Note("The reason in a sentence.", most=512),
        "spec.moves[].gain": Note("Drop of excess in points.", least=-inf),
        "spec.moves[].seconds": Note("Predicted seconds of copying."),
        "spec.moves[].bytes": Note("Memory to copy."),
        "spec.moves[].chain": Note("Moves with the same number above 0 only make sense together."),
        "spec.excessBefore": Note("Points above the band, over all nodes, when it was made."),
        "spec.excessAfter": Note("The same once all moves are done."),
        "spec.leastMoves": Note("The fewest moves that any balancer needs; 0: not proved."),
        "spec.transferRate": Note("Bytes a second that the predicted seconds assume."),
        "spec.rateFrom": Note("Where that rate comes from.", most=256),
        "spec.undoes": Note("The plan whose moves this one takes back.", most=253),
        "spec.approvedPlan": Note("Its `planId`: this very plan may be carried out.", most=64),
        "spec.cancelled": Note(
            "True ends it: nothing more begins, what runs is withdrawn.", filled=True
        ),
        "status.phase": Note("Where the plan is."),
        "status.reason": Note("Why it is there, in a word.", most=128),
        "status.message": Note("The same in a sentence, with how it goes on.", most=1024),
        "status.moves": Note("The plan's moves, in their order.", most=MOST_MOVES),
        "status.moves[].vm": Note("Namespace and name.", most=320),
        "status.moves[].outcome": Note("What became of the move."),
        "status.moves[].migration": Note(
            "The VirtualMachineMigration that carried it out.", most=253
        ),
        "status.moves[].node": Note("Where the scheduler put the VM.", most=253),
        "status.moves[].actualSeconds": Note(
            "Seconds of copying, by the lab's clock; 0: too short to tell."
        ),
        "status.moves[].reason": Note("Why it did not succeed.", most=1024),
        "status.moved": Note("How many of how many.", most=128),
        "status.excessNow": Note("Points above the band when it ended."),
        "status.gained": Note("By how much the excess fell.", least=-inf),
        "status.movesByOthers": Note("Migrations meanwhile that no plan asked for."),
        "status.endedAt": Note("When it was over."),
    }


def _spec_rules() -> dict[str, str]:
    fixed = {
        f"has(self.{name}) == has(oldSelf.{name}) "
        f"&& (!has(self.{name}) || self.{name} == oldSelf.{name})": (
            f"{name} cannot change; a changed plan is another plan"
        )
        for name in _FIXED
    }
    its_own = (
        "!has(self.approvedPlan) || self.approvedPlan == '' || self.approvedPlan == self.planId"
    )
    for_good = "!oldSelf.cancelled || self.cancelled"
    return fixed | {
        its_own: "approvedPlan must be this plan's planId",
        for_good: "a cancelled plan stays cancelled; ask for another one",
    }
