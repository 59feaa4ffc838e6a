"""`trimtab balance`: what to move, what it brings and costs, the proof; plans of a balancer."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import App, Parameter

from trimtab.balance.document import PlanDocument, alternative_of, document_of
from trimtab.balance.explain import explain_vm
from trimtab.balance.from_snapshot import problem_from
from trimtab.balance.goals import Budget, Goals
from trimtab.balance.planner import make_plan
from trimtab.balance.price import DEFAULT_BANDWIDTH, MigrationCost
from trimtab.balance.problem import Problem
from trimtab.cli.cluster.live import snapshot_of
from trimtab.cli.cluster.options import NOWHERE, LookOptions
from trimtab.cli.common.output import Flag, Json, OutputFile, emit, examples
from trimtab.cli.common.output_files import check_file, writing
from trimtab.cli.services.balance.plans import add_commands
from trimtab.errors import ConfigError
from trimtab.model.quantity import parse_quantity
from trimtab.model.snapshot import Snapshot
from trimtab.view.services.balance import proof, show_explained_vm, show_plan, verdict

app = App(name="balance", help="Which VM should move where, with a proof of how good the plan is.")
THERE_IS_SOMETHING_TO_DO = 2
add_commands(app)


@Parameter(name="*")
@dataclass(frozen=True)
class PlanOptions:
    """What the plan is for and how much it may do."""

    band: float = 5.0
    "A node is level while its CPU and memory are at most this many points above the mean."
    margin: float = 0.5
    "The least gain that is worth a move, in points."
    most: int | None = None
    "At most so many moves."
    most_level: Flag = False
    "The most level cluster rather than the fewest moves."
    bandwidth: str = ""
    "Bytes a second that a migration gets, e.g. 64Mi; without it 1Gi is assumed."
    without: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = ()
    "As if this node did not exist: its VMs have to run elsewhere."
    with_nodes: int = 0
    "As if there were so many more nodes, like the one with most CPU."
    drain: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = ()
    "Empty this node: where its VMs would go."

    def goals(self) -> Goals:
        if not 0 <= self.band <= 100 or not 0 <= self.margin <= 100:
            raise ConfigError("--band and --margin are points of a node, from 0 to 100")
        if self.most is not None and self.most < 0:
            raise ConfigError("--most: give the number of moves, from 0 up")
        return Goals(
            band=self.band / 100,
            margin=self.margin / 100,
            levelling_weight=1.0 if self.most_level else 0.001,
        )

    def cost(self) -> MigrationCost:
        if not self.bandwidth:
            return MigrationCost(DEFAULT_BANDWIDTH, "assumed; say it with --bandwidth")
        given = float(parse_quantity(self.bandwidth, "--bandwidth"))
        if given <= 0:
            raise ConfigError("--bandwidth: it must be above 0, e.g. 64Mi")
        return MigrationCost(given, "--bandwidth")


DEFAULT = PlanOptions()


@app.command(
    help_epilogue=examples(
        "trimtab balance plan evicts",
        "trimtab balance plan --live",
        "trimtab balance plan --lab default --band 10 --json",
        "trimtab balance plan now.yaml --explain default/web-1",
        "trimtab balance plan now.yaml --drain worker-3",
        "trimtab balance plan now.yaml --without worker-3 -o plan.yaml",
        "trimtab balance plan my.trimtab --report plan.html",
    )
)
def plan(
    snapshot: Path | None = None,
    *,
    live: Flag = False,
    where: LookOptions = NOWHERE,
    options: PlanOptions = DEFAULT,
    explain: str = "",
    everything: Annotated[bool, Parameter(name="--all", negative=())] = False,
    output: OutputFile = None,
    report: Path | None = None,
    json: Json = False,
) -> int:
    """Show which VMs should move where, in order, and why; nothing is moved.

    Each move comes with its reason, gain, predicted seconds and what was refused instead; the
    plan with the fewest moves that any balancer would need. Exits with 0 when the cluster is
    level, 2 when there is something to do.

    Parameters
    ----------
    snapshot
        A file that `trimtab snapshot` or `trimtab record` (.trimtab) wrote, or the name of an
        example. Of a recording the last hour counts.
    live
        Look at a cluster now instead; --lab, --kubeconfig and --context do so too.
    explain
        Why this VM goes or stays, and which targets were refused.
    everything
        Every move and node, not only the first ones.
    output
        Write the plan to a file: YAML if it ends in .yaml or .yml, otherwise JSON.
    report
        Write a page of HTML that stands alone, with every move and node (extra `study`).
    """
    for file, option in ((output, "--output"), (report, "--report")):
        if file is not None:
            check_file(file, option)
    seen = snapshot_of(snapshot, live or where.names_a_cluster, where)
    problem = _changed(seen, options)
    cost = options.cost()
    made = make_plan(problem, options.goals(), Budget(moves=options.most), cost)
    if explain:
        told = explain_vm(problem, made, _vm(problem, explain), cost)
        refused = [alternative_of(problem, each) for each in told.targets]
        show = partial(show_explained_vm, name=problem.vms[told.vm], node=problem.nodes[told.node])
        document = {"vm": problem.vms[told.vm], "why": told.text, "targets": refused}
        emit((told.text, refused), json, show, document)
        return 0
    shown = document_of(problem, made, loads_from=seen.vm_loads, curve=json or everything)
    if output is not None:
        with writing(output, "--output"):
            output.write_bytes(_encoded(shown, output))
    if report is not None:
        page = _page(shown, str(snapshot or "a look at a cluster"), cost)
        with writing(report, "--report"):
            report.write_text(page, encoding="utf-8")
    emit(shown, json, partial(show_plan, everything=everything, bandwidth=cost))
    return THERE_IS_SOMETHING_TO_DO if shown.moves else 0


def _page(shown: PlanDocument, name: str, cost: MigrationCost) -> str:
    from trimtab.study.report.plan_page import plan_page

    return plan_page(shown, name, verdict(shown), proof(shown), cost)


def _changed(seen: Snapshot, options: PlanOptions) -> Problem:
    if options.with_nodes < 0:
        raise ConfigError("--with-nodes: give the number of nodes to add, from 0 up")
    if options.with_nodes:
        model = max(
            seen.nodes,
            key=lambda node: float(
                parse_quantity(node.allocatable.get("cpu", "0"), f"node {node.name}")
            ),
        )
        taken = {node.name for node in seen.nodes}
        fresh = [n for n in (f"new-{at}" for at in range(1, 10**6)) if n not in taken]
        more = tuple(
            msgspec.structs.replace(
                model,
                name=name,
                unschedulable=False,
                labels={**model.labels, "kubernetes.io/hostname": name},
            )
            for name in fresh[: options.with_nodes]
        )
        seen = msgspec.structs.replace(seen, nodes=(*seen.nodes, *more))
    return problem_from(seen, emptied=(*options.without, *options.drain))


def _vm(problem: Problem, name: str) -> int:
    wanted = name if "/" in name else f"default/{name}"
    if wanted not in problem.vms:
        raise ConfigError(f"--explain: there is no VM {wanted} in the cluster")
    return problem.vms.index(wanted)


def _encoded(plan: PlanDocument, path: Path) -> bytes:
    if path.suffix in (".yaml", ".yml"):
        return msgspec.yaml.encode(plan)
    return msgspec.json.format(msgspec.json.encode(plan), indent=1)
