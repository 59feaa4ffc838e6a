"""The CustomResourceDefinition of RebalancePlan."""

from typing import get_args

from trimtab.balance.plan import Goal
from trimtab.balancer.wire import MOST_MOVES, REBALANCE_PLANS, Mode, MoveOutcome, PlanPhase
from trimtab.kube.crd_schema import (
    Schema,
    array,
    choice,
    column,
    count,
    crd,
    flag,
    number,
    obj,
    rule,
    string,
)

_TIME = {"type": "string", "format": "date-time"}
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
    schema = obj({"spec": _spec(), "status": _status()}, required=["spec"])
    return [crd(REBALANCE_PLANS, ["rbp"], schema, columns)]


def _spec() -> Schema:
    properties = {
        "mode": choice(get_args(Mode), "Who carries it out: nobody, after approval, at once."),
        "planId": string(64, "A hash of mode, time and moves: what approval refers to.", least=1),
        "madeAt": _TIME | {"description": "When the cluster was looked at."},
        "moves": array(_move(), MOST_MOVES, "Migrations in their order."),
        "excessBefore": number("Points above the band, over all nodes, when it was made."),
        "excessAfter": number("The same once all moves are done."),
        "leastMoves": count("The fewest moves that any balancer needs; 0: not proved."),
        "transferRate": number("Bytes a second that the predicted seconds assume."),
        "rateFrom": string(256, "Where that rate comes from."),
        "undoes": string(253, "The plan whose moves this one takes back."),
        "approvedPlan": string(64, "Its `planId`: this very plan may be carried out."),
        "cancelled": flag(False, "True ends it: nothing more begins, what runs is withdrawn."),
    }
    rules = [
        rule(f"{_same(name)}", f"{name} cannot change; a changed plan is another plan")
        for name in _FIXED
    ]
    rules += [
        rule(
            "!has(self.approvedPlan) || self.approvedPlan == '' "
            "|| self.approvedPlan == self.planId",
            "approvedPlan must be this plan's planId",
        ),
        rule(
            "!oldSelf.cancelled || self.cancelled",
            "a cancelled plan stays cancelled; ask for another one",
        ),
    ]
    return obj(properties, required=["mode", "planId", "moves"], rules=rules)


def _same(name: str) -> str:
    return (
        f"has(self.{name}) == has(oldSelf.{name}) "
        f"&& (!has(self.{name}) || self.{name} == oldSelf.{name})"
    )


def _move() -> Schema:
    properties = {
        "vm": string(320, "Namespace and name.", least=3, pattern="^[^/]+/[^/]+$"),
        "source": string(253, "The node it leaves."),
        "target": string(253, "The node it should go to; the scheduler decides."),
        "goal": choice(get_args(Goal), "What the move is for."),
        "why": string(512, "The reason in a sentence."),
        "gain": {"type": "number", "description": "Drop of excess in points."},
        "seconds": number("Predicted seconds of copying."),
        "bytes": number("Memory to copy."),
        "chain": count("Moves with the same number above 0 only make sense together."),
    }
    return obj(properties, required=["vm", "source", "target"])


def _status() -> Schema:
    move = {
        "vm": string(320, "Namespace and name."),
        "outcome": choice(get_args(MoveOutcome), "What became of the move."),
        "migration": string(253, "The VirtualMachineMigration that carried it out."),
        "node": string(253, "Where the scheduler put the VM."),
        "actualSeconds": number("Seconds of copying, by the lab's clock; 0: too short to tell."),
        "reason": string(1024, "Why it did not succeed."),
    }
    return obj(
        {
            "phase": choice(get_args(PlanPhase), "Where the plan is."),
            "reason": string(128, "Why it is there, in a word."),
            "message": string(1024, "The same in a sentence, with how it goes on."),
            "moves": array(obj(move), MOST_MOVES, "The plan's moves, in their order."),
            "moved": string(128, "How many of how many."),
            "excessNow": number("Points above the band when it ended."),
            "gained": {"type": "number", "description": "By how much the excess fell."},
            "movesByOthers": count("Migrations meanwhile that no plan asked for."),
            "endedAt": _TIME | {"description": "When it was over."},
        }
    )
