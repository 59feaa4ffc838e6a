"""`trimtab lab`: a real Kubernetes control plane with fake nodes on this computer."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

from cyclopts import App, Parameter

from trimtab.cli.common.examples import examples

if TYPE_CHECKING:
    from trimtab.lab import LabDir, LabStatus
    from trimtab.stacks.loop.state.keeping_up import KeepingUp

PACE_LIMIT_S = 3.0

app = App(name="lab", help="A real Kubernetes control plane with fake nodes on this computer.")

Name = Annotated[str, Parameter(name="--name", env_var="TRIMTAB_LAB", help="Which lab.")]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON instead of a table.")]
Flag = Annotated[bool, Parameter(negative=())]
_KUBECTL_HELP = """\
Usage: trimtab lab kubectl [--name LAB] ARGUMENTS

Run kubectl against a lab, as its administrator; all other options are kubectl's.
kubectl's own help is shown here when there are programs and a lab: {}

Examples:
  trimtab lab kubectl get nodes
  trimtab lab kubectl --name second get pods -A"""


_LIVE = "trimtab.cli.lab.live:"
app.command(
    f"{_LIVE}algorithm",
    name="algorithm",
    help="Change the node score that the descheduler goes by, while the lab runs.",
    help_epilogue=examples("trimtab lab algorithm", "trimtab lab algorithm cpu_focused"),
)
app.command(
    f"{_LIVE}scenario",
    name="scenario",
    help="Show the scenario, or start over with the VMs of one, while the lab runs.",
    help_epilogue=examples(
        "trimtab lab scenario", "trimtab lab scenario diurnal", "trimtab lab scenario --again"
    ),
)
app.command(
    f"{_LIVE}watch",
    name="watch",
    help="Nodes with bars and classes, evictions and migrations, live.",
    help_epilogue=examples("trimtab lab watch", "trimtab lab watch --once --json"),
)
app.command(
    f"{_LIVE}links",
    name="test",
    help="Is the loop closed? Each link, and what to look at if one is broken.",
    help_epilogue=examples("trimtab lab test", "trimtab lab test --json | jq .ok"),
)


@app.command(
    help_epilogue=examples(
        "trimtab lab up",
        "trimtab lab up --scale 10 --algorithm cpu_focused",
        "trimtab lab up --scenario examples/scenarios/diurnal.yaml --migration recreate",
        "trimtab lab up --with none --nodes 100 --placement binpack",
        "trimtab lab up --with loop --with qos",
        "trimtab lab up --name openshift --with advisor --ocp 5.14 --scale 10",
        "trimtab lab up --name second --scheduler-config my-scheduler.yaml",
    )
)
def up(
    *,
    name: Name = "default",
    with_: Annotated[list[str] | None, Parameter(name="--with", negative=())] = None,
    nodes: int | None = None,
    node_cpu: str | None = None,
    node_memory: str | None = None,
    node_pods: int | None = None,
    placement: Literal["spread", "binpack"] | None = None,
    scheduler_config: Path | None = None,
    scale: int | None = None,
    listen: str | None = None,
    scenario: str | None = None,
    policy: Path | None = None,
    algorithm: str | None = None,
    interval: str | None = None,
    migration: Literal["live", "recreate"] | None = None,
    soft_taints: bool | None = None,
    ocp: Literal["5.10", "5.14", "5.21", "5.32"] | None = None,
    operator: bool | None = None,
    measure_only: bool | None = None,
    legacy: bool | None = None,
    foreground: Flag = False,
) -> None:
    """Start a lab, or resume it with its data and ports; returns when everything is ready.

    What is not given stays as it is, or takes its default in a new lab. A running lab only
    grows (`--nodes`); any other change is refused while it runs.

    Parameters
    ----------
    with_
        What runs on top of the bare control plane: loop, qos, advisor, or none; repeatable.
        New lab: loop.
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
    scenario
        Nodes and VMs to begin with: a file, or file.json#name. New lab: one hot node of five.
    policy
        The descheduler's policy file. New lab: 0 to 10 points around the mean.
    algorithm
        The node score that the policy asks for; `trimtab scores list` names them.
    interval
        Time between two descheduling cycles, in the lab's time. New lab: 60s.
    migration
        How VMs move: live, target first; recreate, source first. New lab: as the scenario says.
    soft_taints
        Also run the soft tainter, as OpenShift does. New lab: no.
    ocp
        The release of OpenShift that --with advisor plays. New lab: 5.32.
    operator
        Whether --with advisor also runs the operator. New lab: yes.
    measure_only
        With qos: keep accounts and serve the page, but leave the queue its stock order.
    legacy
        With qos: read the bare annotations `slo` and `controller`, and show the rows by them.
    foreground
        Stay, show what happens, and stop the lab on Ctrl-C.
    """
    from trimtab.cli.lab import context as context
    from trimtab.cli.lab import with_advisor as advisor
    from trimtab.cli.lab import with_loop as loop
    from trimtab.cli.lab import with_qos as qos
    from trimtab.lab import Wish, stay_up
    from trimtab.lab import up as start
    from trimtab.view.lab import StartDisplay, show_started
    from trimtab.view.terminal import progress

    given = loop.Given(
        scenario=scenario,
        policy=policy,
        algorithm=algorithm,
        interval=interval,
        migration=migration,
        soft_taints=soft_taints,
    )
    chosen = loop.choose(context.home(), name, with_, given)
    queue = qos.stack_of(
        context.home(), name, chosen.names, {"measure_only": measure_only, "legacy": legacy}
    )
    platform = advisor.stack_for(context.home(), name, chosen.names, ocp, operator)
    stacks = {**chosen.stacks, queue.name: queue, platform.name: platform}
    count, cpu, memory, pods = loop.nodes_for(chosen, context.home().lab(name).read_spec(), nodes)
    wish = Wish(
        name=name,
        stacks=chosen.names,
        nodes=count,
        node_cpu=node_cpu or cpu,
        node_memory=node_memory or memory,
        node_pods=node_pods or pods,
        placement=placement,
        own_scheduler_config=scheduler_config is not None,
        scale=scale,
        listen=listen,
        hosts=context.own_addresses(listen),
    )
    own = None if scheduler_config is None else context.read_scheduler_config(scheduler_config)
    context.warn_of(listen)
    loop.warn_of(chosen.scenario)
    if foreground:
        stay_up(context.home(), wish, context.means(StartDisplay(), stacks), own)
        return
    with context.interruptible(), progress(f"lab {name}") as steps:
        means = context.means(StartDisplay(steps), stacks)
        outcome, status = start(context.home(), wish, means, own)
        if chosen.has_loop:
            loop.await_loop(context.home().lab(name), steps.note)
    show_started(outcome, status)


@app.command(help_epilogue=examples("trimtab lab down"))
def down(*, name: Name = "default") -> None:
    """Stop a lab in order; its data and ports stay, `up` resumes it."""
    from trimtab.cli.lab.context import existing
    from trimtab.lab import down as stop
    from trimtab.lab.spec import name_option
    from trimtab.view.terminal import err, progress

    lab = existing(name)
    with progress(f"lab {name}") as steps:
        steps.note("stopping")
        stopped = stop(lab)
    what = "stopped; its data stay" if stopped else "was not running"
    err.print(f"lab {name} {what}; resume: trimtab lab up{name_option(name)}", markup=False)


@app.command(help_epilogue=examples("trimtab lab status", "trimtab lab status --json | jq .phase"))
def status(*, name: Name = "default", json: Json = False) -> int:
    """Show every component and task of a lab, and warnings. Exits with 1 unless it is ready."""
    from msgspec import to_builtins

    from trimtab.cli.lab.context import existing
    from trimtab.lab import look
    from trimtab.view.lab import show_status
    from trimtab.view.terminal import show_json

    lab = existing(name)
    seen = look(lab)
    pace = _pace(lab, seen)
    if json:
        show_json(seen if pace is None else {**to_builtins(seen), "keeping_up": pace})
    else:
        show_status(seen, "" if pace is None else str(pace))
    return 0 if seen.phase == "ready" else 1


def _pace(lab: "LabDir", status: "LabStatus") -> "KeepingUp | None":
    """Whether a loop that runs keeps up; None where there is none."""
    from trimtab.stacks.loop.settings import STACK

    if STACK not in status.stacks or not status.units:
        return None
    import asyncio

    from trimtab.stacks.loop.connection import open_loop
    from trimtab.stacks.loop.state.keeping_up import keeping_up

    async def ask() -> "KeepingUp":
        async with open_loop(lab, limit_s=PACE_LIMIT_S) as loop:
            return await keeping_up(loop)

    return asyncio.run(ask())


@app.command(name="list", help_epilogue=examples("trimtab lab list"))
def list_(*, json: Json = False) -> None:
    """Show all labs of this user."""
    from trimtab.cli.lab.context import home
    from trimtab.lab import survey
    from trimtab.view.lab import show_labs
    from trimtab.view.terminal import show_json

    seen = list(survey(home()))
    show_json(seen) if json else show_labs(seen)


@app.command(
    help_epilogue=examples(
        "trimtab lab logs kube-scheduler -f", "trimtab lab logs supervisor -n 20"
    )
)
def logs(
    component: str,
    *,
    name: Name = "default",
    follow: Annotated[bool, Parameter(name=["--follow", "-f"], negative=())] = False,
    lines: Annotated[int, Parameter(name=["--lines", "-n"])] = 100,
) -> None:
    """Print the end of a component's log; `supervisor` has one too.

    Parameters
    ----------
    component
        Whose log; `trimtab lab status` lists them.
    follow
        Stay, and print what is added.
    lines
        How many lines of what is there.
    """
    from trimtab.cli.lab.context import existing
    from trimtab.errors import ConfigError
    from trimtab.lab.files import logs

    lab = existing(name)
    log = lab.log(component)
    if not log.exists():
        known = ", ".join(sorted(file.stem for file in lab.logs.glob("*.log")))
        raise ConfigError(f'lab {name} has no log of "{component}"; it has {known or "none"}')
    end = logs.size(log)
    for line in logs.tail(log, lines):
        print(line)
    if follow:
        for text in logs.follow(log, end):
            print(text, end="", flush=True)


@app.command(help_epilogue=examples("trimtab lab restart kube-scheduler"))
def restart(component: str, *, name: Name = "default") -> int:
    """Stop one component in order and start it again; returns when it is ready."""
    from trimtab.cli.lab.context import existing
    from trimtab.lab import control, look
    from trimtab.view.terminal import err

    lab = existing(name)
    control.ask(lab, control.RestartComponent(component), timeout_s=120.0)
    unit = next(unit for unit in look(lab).units if unit.name == component)
    err.print(f"{component}: {unit.state} {unit.message}".rstrip(), markup=False)
    return 0 if unit.state == "ready" else 1


@app.command(
    help_flags=[],  # kubectl has a --help and a --version of its own
    version_flags=[],
    end_of_options_delimiter="",
    help_epilogue=examples(
        "trimtab lab kubectl get nodes", "trimtab lab kubectl --name second get pods -A"
    ),
)
def kubectl(
    *arguments: Annotated[str, Parameter(allow_leading_hyphen=True)], name: Name = "default"
) -> NoReturn:
    """Run kubectl against a lab, as its administrator; all other options are kubectl's."""
    from trimtab.cli.lab.context import existing, locate
    from trimtab.errors import TrimtabError

    try:
        program, lab = str(locate("kubectl")), existing(name)
    except TrimtabError as error:
        if arguments[:1] not in (("--help",), ("-h",)):
            raise
        print(_KUBECTL_HELP.format(error))  # kubectl's own help needs kubectl
        sys.exit(0)
    # What kubectl knows of a server it keeps by port, and another lab may have had this one.
    own = {"KUBECONFIG": str(lab.kubeconfig), "KUBECACHEDIR": str(lab.path / "kubectl-cache")}
    if note := processes_not_pods(arguments):
        print(note, file=sys.stderr)
    sys.stdout.flush()
    os.execve(program, ["kubectl", *arguments], {**os.environ, **own})


_PARTS = {
    "vm-controller": "vm-controller",
    "eviction-webhook": "webhook",
    "metrics-exporter": "exporter",
    "descheduler": "descheduler",
    "prometheus": "prometheus",
}


def processes_not_pods(arguments: tuple[str, ...]) -> str:
    """A note for those who look for the pods of a service, which is a process in a lab."""
    asked = " ".join(arguments)
    for part, component in _PARTS.items():
        if f"app={part}" in asked or f"deployment/{part}" in asked:
            return (
                f"note: in a lab {part} is a process, not a pod; see: trimtab lab status, "
                f"trimtab lab logs {component}"
            )
    return ""


@app.command(help_epilogue=examples("export KUBECONFIG=$(trimtab lab kubeconfig)"))
def kubeconfig(*, name: Name = "default") -> None:
    """Print where a lab's kubeconfig is."""
    from trimtab.cli.lab.context import existing

    print(existing(name).kubeconfig)


@app.command(help_epilogue=examples("trimtab lab wipe --name second --yes"))
def wipe(*, name: Name = "default", yes: Flag = False) -> int:
    """Remove a stopped lab with all its data; asks first.

    Parameters
    ----------
    yes
        Do not ask.
    """
    from trimtab.cli.lab.context import existing
    from trimtab.lab import wipe as remove
    from trimtab.lab.stop import check_stopped
    from trimtab.view.terminal import err

    lab = existing(name)
    check_stopped(lab)
    if not yes and not _agreed(f"Remove {lab.path} with all its data?"):
        err.print("nothing was removed")
        return 1
    remove(lab)
    err.print(f"lab {name} removed", markup=False)
    return 0


@app.command(help_epilogue=examples("trimtab lab bundle", "trimtab lab bundle /tmp/lab.tar.gz"))
def bundle(file: Path | None = None, *, name: Name = "default") -> None:
    """Pack logs, versions and status into one archive for a bug report; no keys, no tokens.

    Parameters
    ----------
    file
        Where to write it; otherwise trimtab-lab-NAME.tar.gz in this directory.
    """
    from trimtab.cli.lab.context import existing
    from trimtab.lab.files.bundle import write_bundle

    target = file or Path(f"trimtab-lab-{name}.tar.gz")
    write_bundle(existing(name), target)
    print(target)


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        from trimtab.errors import ConfigError

        raise ConfigError("wipe asks first, and there is no terminal to ask on; use --yes")
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
