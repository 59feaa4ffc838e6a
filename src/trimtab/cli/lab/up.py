"""`trimtab lab up`: start a lab or resume it, with the stacks that are asked for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from trimtab.cli.common.output import Flag
from trimtab.cli.lab import context, starting
from trimtab.cli.lab.context import Name
from trimtab.cli.lab.stacks import advisor as with_advisor
from trimtab.cli.lab.stacks import balancer as with_balancer
from trimtab.cli.lab.stacks import kubevirt as with_kubevirt
from trimtab.cli.lab.stacks import loop as with_loop
from trimtab.cli.lab.stacks import qos as with_qos
from trimtab.cli.lab.stacks.loop import LoopOptions
from trimtab.lab.starting.resolve_request import LabRequest
from trimtab.lab.starting.start import stay_up
from trimtab.lab.starting.start import up as start
from trimtab.view.lab import StartDisplay, show_started
from trimtab.view.terminal import progress


@Parameter(name="*")
@dataclass(frozen=True)
class PlaneOptions:
    """Options of the control plane and its nodes.

    Parameters
    ----------
    nodes
        How many nodes, kwok-node-1 and so on. New lab: as the scenario has, or 5.
    node_cpu
        Cores of each node. New lab: 32.
    node_memory
        Memory of each node. New lab: 128Gi.
    node_pods
        Pods that fit on each node. New lab: 110.
    placement
        Which node the scheduler prefers: the emptiest (spread) or the fullest that fits (binpack).
    scheduler_config
        A KubeSchedulerConfiguration that replaces ours.
    scale
        How fast the lab's time goes, 1 to 15.
    listen
        The address the API server listens on. New lab: 127.0.0.1.
    """

    nodes: int | None = None
    node_cpu: str | None = None
    node_memory: str | None = None
    node_pods: int | None = None
    placement: Literal["spread", "binpack"] | None = None
    scheduler_config: Path | None = None
    scale: int | None = None
    listen: str | None = None


@Parameter(name="*")
@dataclass(frozen=True)
class StackOptions:
    """Options of --with advisor, qos, kubevirt and balancer.

    Parameters
    ----------
    ocp
        The release of OpenShift that --with advisor plays. New lab: 5.32.
    operator
        Whether --with advisor also runs the operator. New lab: yes.
    measure_only
        With qos: keep accounts and serve the page, but leave the queue its stock order.
    legacy
        With qos: read the bare annotations `slo` and `controller`, and show the rows by them.
    cpu_model
        With kubevirt: VENDOR:MODEL of the nodes, oldest first; several go round the nodes in turn.
    balancer
        With balancer: observe, propose or act. In act the descheduler runs dry. New lab: observe.
    """

    ocp: Literal["5.10", "5.14", "5.21", "5.32"] | None = None
    operator: bool | None = None
    measure_only: bool | None = None
    legacy: bool | None = None
    cpu_model: Annotated[list[str] | None, Parameter(negative=())] = None
    balancer: Literal["observe", "propose", "act"] | None = None


PLANE, LOOP, STACKS = PlaneOptions(), LoopOptions(), StackOptions()


def up(
    *,
    name: Name = "default",
    with_: Annotated[list[str] | None, Parameter(name="--with", negative=())] = None,
    plane: PlaneOptions = PLANE,
    loop: LoopOptions = LOOP,
    stacks: StackOptions = STACKS,
    foreground: Flag = False,
) -> None:
    """Start a lab, or resume it with its data and ports; returns when everything is ready.

    What is not given stays as it is, or takes its default in a new lab. A running lab only
    grows (`--nodes`); any other change is refused while it runs.

    Parameters
    ----------
    with_
        What runs on top of the bare control plane: loop, kubevirt, balancer, qos, advisor, or
        none; repeatable. With kubevirt the VMs are KubeVirt's own, otherwise trimtab's. New
        lab: loop.
    foreground
        Stay, show what happens, and stop the lab on Ctrl-C.
    """
    home = context.home()
    acts = with_balancer.acts(home, name, with_, stacks.balancer)
    chosen = with_loop.choose(home, name, with_, loop, dry_run=acts)
    given = {"measure_only": stacks.measure_only, "legacy": stacks.legacy}
    queue = with_qos.stack_of(home, name, chosen.names, given)
    platform = with_advisor.stack_for(home, name, chosen.names, stacks.ocp, stacks.operator)
    vms = with_kubevirt.stack_for(home, name, chosen, stacks.cpu_model)
    level = with_balancer.stack_for(home, name, chosen, stacks.balancer)
    others = {each.name: each for each in (queue, platform, vms, level)}
    known = {**chosen.stacks, **others}
    request = _request(name, chosen, plane)
    file = plane.scheduler_config
    own = None if file is None else starting.read_scheduler_config(file)
    starting.warn_of(plane.listen)
    with_loop.warn_of(chosen.scenario)
    with_kubevirt.build_what_is_missing(chosen.names)
    if foreground:
        stay_up(home, request, starting.means(StartDisplay(), known), own)
        return
    with starting.interruptible(), progress(f"lab {name}") as steps:
        means = starting.means(StartDisplay(steps), known)
        outcome, status = start(home, request, means, own)
        if chosen.has_loop:
            with_loop.await_loop(home.lab(name), steps.note)
    show_started(outcome, status)


def _request(name: str, chosen: with_loop.Chosen, plane: PlaneOptions) -> LabRequest:
    old = context.home().lab(name).read_spec()
    count, cpu, memory, pods = with_loop.nodes_for(chosen, old, plane.nodes)
    return LabRequest(
        name=name,
        stacks=chosen.names,
        nodes=count,
        node_cpu=plane.node_cpu or cpu,
        node_memory=plane.node_memory or memory,
        node_pods=plane.node_pods or pods,
        placement=plane.placement,
        own_scheduler_config=plane.scheduler_config is not None,
        scale=plane.scale,
        listen=plane.listen,
        hosts=starting.own_addresses(plane.listen),
    )
