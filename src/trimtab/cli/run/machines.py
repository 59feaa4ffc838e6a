"""`trimtab run machine-config-operator`: the part of OpenShift that a lab plays."""

from trimtab.cli.run.commands import Host, Kubeconfig, LogLevel, Port, client


def machine_config_operator(
    *,
    kubeconfig: Kubeconfig = None,
    host: Host = "127.0.0.1",
    port: Port = 8089,
    reboot: str = "20s",
    log_level: LogLevel = "info",
) -> None:
    """Render MachineConfigs and roll a lab's nodes, one by one; nothing really boots.

    At the start it installs a small OpenShift cluster, as far as it is not there.

    Parameters
    ----------
    reboot
        How long a node is out of service.
    """
    from trimtab import obs
    from trimtab.kube.runtime.service import run
    from trimtab.model.duration import parse_duration
    from trimtab.stacks.advisor.machine_config_operator import NAME, MachineConfigOperator, serve
    from trimtab.stacks.advisor.stack import lab_baseline

    obs.configure(log_level)
    reboot_s = parse_duration(reboot, "--reboot")

    async def main() -> None:
        operator = MachineConfigOperator(client(kubeconfig, NAME), reboot_s, lab_baseline())
        await serve(operator, host=host, port=port)

    run(main())
