"""`trimtab run projector|scenario|soft-tainter`: the services that make a lab's loop."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trimtab.cli.run.commands import Host, Kubeconfig, LogLevel, Port, client


def projector(
    *,
    promtool: Path,
    kubeconfig: Kubeconfig = None,
    host: Host = "127.0.0.1",
    port: Port = 8086,
    scale: float = 1.0,
    prometheus: str = "http://127.0.0.1:9090",
    descheduler: str = "https://127.0.0.1:10258",
    metrics_port: int = 8443,
    focus: Annotated[bool, Parameter(negative=())] = False,
    lab: Path = Path(),
    log_level: LogLevel = "info",
) -> None:
    """Turn the ConfigMaps with policy and rules into files, and make the programs read them.

    Part of a lab: it restarts the descheduler and reloads Prometheus through the lab's
    supervisor. Also serves the descheduler's metrics on plain HTTP.

    Parameters
    ----------
    promtool
        The program that judges rule files.
    scale
        All times in policy and rules are divided by it.
    prometheus
        Where the lab's Prometheus is; addresses of services in the cluster become this one.
    descheduler
        Where the descheduler serves its metrics over TLS.
    metrics_port
        Where they are served on plain HTTP.
    focus
        Evaluate at their own interval only the rules that the policy needs; all others once a
        minute.
    lab
        The lab's directory.
    """
    from trimtab import obs
    from trimtab.kube.runtime.service import run
    from trimtab.lab import LabDir
    from trimtab.stacks.loop.metrics_proxy import metrics_proxy
    from trimtab.stacks.loop.projector.parts import wishes
    from trimtab.stacks.loop.projector.programs import LabPrograms
    from trimtab.stacks.loop.projector.projector import NAME, Projector, serve

    obs.configure(log_level)
    directory = lab.resolve()

    async def main() -> None:
        programs = LabPrograms(LabDir(directory), prometheus)
        parts = wishes(directory, scale, prometheus, promtool, focused=focus)
        service = Projector(client(kubeconfig, NAME), parts, programs, directory)
        proxy = metrics_proxy(descheduler, directory / "pki/ca.crt", host=host, port=metrics_port)
        await serve(service, host=host, port=port, extra=[proxy])

    run(main())


def scenario(
    *,
    file: Path,
    kubeconfig: Kubeconfig = None,
    host: Host = "127.0.0.1",
    port: Port = 8087,
    log_level: LogLevel = "info",
) -> None:
    """Put a scenario's VMs into the cluster once, then play its events in the lab's time.

    Parameters
    ----------
    file
        The script that `trimtab lab up` made of the scenario.
    """
    from trimtab import obs
    from trimtab.kube.runtime.service import run
    from trimtab.stacks.loop.scenario.player import NAME, read_script, serve

    obs.configure(log_level)
    script = read_script(file.read_bytes(), str(file))

    async def main() -> None:
        await serve(client(kubeconfig, NAME), script, host=host, port=port)

    run(main())


def soft_tainter(
    *,
    policy: Path,
    kubeconfig: Kubeconfig = None,
    host: Host = "127.0.0.1",
    port: Port = 8088,
    prometheus: str = "http://127.0.0.1:9090",
    interval: str = "60s",
    log_level: LogLevel = "info",
) -> None:
    """Taint fuller nodes softly, so that the scheduler prefers the emptier ones, as OpenShift does.

    Parameters
    ----------
    policy
        The descheduler's policy file; it is read at every turn.
    prometheus
        Where the policy's query is asked.
    interval
        Time between two turns.
    """
    from trimtab import obs
    from trimtab.kube.runtime.service import run
    from trimtab.model.duration import parse_duration
    from trimtab.prom.client import Prometheus
    from trimtab.stacks.loop.soft_tainter import NAME, SoftTainter, serve

    obs.configure(log_level)
    every_s = parse_duration(interval, "--interval")

    async def main() -> None:
        async with Prometheus(prometheus) as source:
            tainter = SoftTainter(client(kubeconfig, NAME), source, policy, every_s)
            await serve(tainter, host=host, port=port)

    run(main())
