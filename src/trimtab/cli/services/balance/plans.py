"""`trimtab balance approve|apply|cancel|resume|history|undo`: plans of a running balancer."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, TypeVar

from cyclopts import App, Parameter

from trimtab.balancer.learning import prediction_error
from trimtab.balancer.requests import RebalanceRequests, Undone
from trimtab.balancer.wire import RebalancePlan
from trimtab.cli.cluster.options import ClusterOptions
from trimtab.cli.common.numbers import Seconds
from trimtab.cli.common.output import Flag, Json, emit, examples
from trimtab.view.services.rebalance_plans import show_moves, show_plans, show_undone
from trimtab.view.terminal import err

# Which cluster a command about plans means, and talking to it.
T = TypeVar("T")


@Parameter(name="*")
@dataclass(frozen=True)
class PlansOptions(ClusterOptions):
    """Which cluster, and how long to wait."""

    timeout: Annotated[Seconds, Parameter(help="Seconds to wait for the end of a plan.")] = 600.0


HERE = PlansOptions()


def talk(where: PlansOptions, ask: Callable[[RebalanceRequests], Awaitable[T]]) -> T:
    """Make a request to the cluster that is meant."""
    return where.ask("balance", lambda client, note: ask(RebalanceRequests(client, say=note)))


def add_commands(app: App) -> None:
    """Put the commands about plans beside `balance plan`."""
    for function, lines in (
        (history, ("trimtab balance history", "trimtab balance history plan-0a1b2c3d4e --json")),
        (approve, ("trimtab balance approve plan-0a1b2c3d4e",)),
        (apply, ("trimtab balance apply", "trimtab balance apply plan-0a1b2c3d4e --timeout 900")),
        (cancel, ("trimtab balance cancel plan-0a1b2c3d4e",)),
        (resume, ("trimtab balance resume",)),
        (undo, ("trimtab balance undo plan-0a1b2c3d4e --wait",)),
    ):
        app.command(function, help_epilogue=examples(*lines))


def history(plan: str = "", /, *, json: Json = False, where: PlansOptions = HERE) -> None:
    """Show the balancer's plans, or one plan with its moves: promised, and what became of it.

    Parameters
    ----------
    plan
        The name of one plan.
    """
    if plan:
        emit(talk(where, lambda requests: requests.get(plan)), json, show_moves)
        return
    plans = talk(where, RebalanceRequests.all)
    emit(plans, json, partial(show_plans, error=prediction_error(plans)))


def approve(plan: str = "", /, *, json: Json = False, where: PlansOptions = HERE) -> None:
    """Let the balancer carry out exactly this plan.

    Parameters
    ----------
    plan
        Its name; without one the newest that waits.
    """
    done = talk(where, lambda requests: requests.approve(plan))
    emit(done, json, lambda it: err.print(f"{it.metadata.name} approved", markup=False))


def apply(plan: str = "", /, *, json: Json = False, where: PlansOptions = HERE) -> int:
    """Approve a plan and wait for its end; exits with 1 unless it completes.

    Parameters
    ----------
    plan
        Its name; without one the newest that waits.
    """

    async def ask(requests: RebalanceRequests) -> RebalancePlan:
        approved = await requests.approve(plan)
        return await requests.await_over(approved.metadata.name, where.timeout)

    done = talk(where, ask)
    emit(done, json, show_moves)
    return 0 if done.status.phase == "Completed" else 1


def cancel(plan: str = "", /, *, json: Json = False, where: PlansOptions = HERE) -> None:
    """End a plan: nothing more begins, and migrations under way are withdrawn.

    Parameters
    ----------
    plan
        Its name; without one the newest that is not over.
    """
    done = talk(where, lambda requests: requests.cancel(plan))
    emit(done, json, lambda it: err.print(f"{it.metadata.name} is being cancelled", markup=False))


def resume(*, json: Json = False, where: PlansOptions = HERE) -> None:
    """Go on after a pause for failures or missed gains: they are known now."""
    names = talk(where, RebalanceRequests.resume)
    text = f"acknowledged: {', '.join(names)}" if names else "nothing pauses the balancer for that"
    emit(names, json, lambda _: err.print(text, markup=False))


def undo(
    plan: str, /, *, wait: Flag = False, json: Json = False, where: PlansOptions = HERE
) -> int:
    """Move back what can still go back; exits with 1 if nothing can.

    A balancer in mode observe does not carry it out. One in mode act may move other VMs later.

    Parameters
    ----------
    plan
        The plan to take back.
    wait
        Return when it is over.
    """

    async def ask(requests: RebalanceRequests) -> Undone:
        undone = await requests.undo(plan)
        if not wait or undone.plan is None:
            return undone
        over = await requests.await_over(undone.plan.metadata.name, where.timeout)
        return Undone(over, undone.staying)

    done = talk(where, ask)
    emit(done, json, show_undone)
    return 0 if done.plan is not None else 1
