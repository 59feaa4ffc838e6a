"""RebalancePlans as a person reads them: a list, and one plan with what became of its moves."""

from collections.abc import Sequence

from trimtab.balancer.learning import PredictionError
from trimtab.balancer.requests import Undone
from trimtab.balancer.wire import MoveStatus, RebalancePlan
from trimtab.view.terminal import show_table, tell


def show_plans(plans: Sequence[RebalancePlan], *, error: PredictionError | None = None) -> None:
    """The newest first, and how good predictions of copying were."""
    if not plans:
        tell("No plans yet: the cluster was level, or the balancer has not held on long enough.")
        return
    rows = [
        (
            plan.metadata.name,
            plan.spec.mode,
            plan.status.phase or "new",
            plan.status.moved or f"0/{len(plan.spec.moves)}",
            f"{plan.spec.excess_before:.1f} → {plan.spec.excess_after:.1f}",
            f"{plan.status.excess_now:.1f}" if plan.over else "",
            str(plan.status.moves_by_others),
            plan.status.message,
        )
        for plan in plans
    ]
    show_table(
        ("plan", "mode", "phase", "moved", "excess promised", "at its end", "others", "message"),
        rows,
        right=("excess promised", "at its end", "others"),
        drop=("message", "others", "at its end"),
    )
    if error is not None:
        tell(
            f"copies took {error.mean:.2f} times the predicted seconds "
            f"({error.low:.2f} to {error.high:.2f} with 95 %, {error.moves} moves)"
        )


def show_moves(plan: RebalancePlan) -> None:
    """One plan: its state, then every move as promised and as it came."""
    status = plan.status
    text = f"{plan.metadata.name} ({plan.spec.mode}): {status.phase or 'new'}"
    tell(f"{text}, {status.message}" if status.message else text)
    known = {each.vm: each for each in status.moves}
    rows = []
    for move in plan.spec.moves:
        done = known.get(move.vm, MoveStatus())
        took = f"{done.actual_seconds:.0f} s" if done.actual_seconds else ""
        rows.append(
            (
                move.vm,
                move.source,
                move.target,
                done.outcome,
                done.node,
                f"{move.gain:.1f}",
                f"{move.seconds:.0f} s",
                took,
                done.reason or move.why,
            )
        )
    show_table(
        ("VM", "from", "to", "outcome", "now on", "gain", "copy", "took", "why"),
        rows,
        right=("gain", "copy", "took"),
        drop=("why", "gain", "copy", "took", "now on"),
    )
    if plan.spec.rate_from:
        rate = plan.spec.transfer_rate / 1024**2
        tell(f"copies were predicted with {rate:.0f} MiB/s, {plan.spec.rate_from}")


def show_undone(undone: Undone) -> None:
    for vm, why in undone.staying.items():
        tell(f"{vm} stays: {why}")
    if undone.plan is None:
        tell("Nothing can go back.")
    else:
        show_moves(undone.plan)
