"""`trimtab run`: one service in this process, the same in a lab and in a Deployment.

Every service ends with 0 on SIGTERM, with 2 on a bad configuration and with 1 otherwise.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from trimtab.cli.common.examples import examples
from trimtab.cli.common.numbers import within
from trimtab.errors import ConfigError
from trimtab.model.limits import MAX_AT_ONCE
from trimtab.obs.log import Level
from trimtab.stacks.registry import help_texts

if TYPE_CHECKING:
    from trimtab.kube.client import Client

app = App(name="run", help="One service in this process, until SIGTERM.")

Kubeconfig = Annotated[
    Path | None,
    Parameter(name="--kubeconfig", help="How to reach the API server; in a pod it is not needed."),
]
LogLevel = Annotated[Level, Parameter(name="--log-level", help="What is logged, as JSON lines.")]
Host = Annotated[str, Parameter(name="--host", help="The address to listen on.")]
API_SERVER = "kube-apiserver-webhook-client"
ClientCa = Annotated[
    Path | None,
    Parameter(help="PEM file of the CA that signed the API server's certificate for webhooks."),
]
ClientName = Annotated[str, Parameter(help="The common name in that certificate.")]
Port = Annotated[
    int,
    Parameter(
        name="--port",
        help="The port to listen on; 0 takes a free one.",
        validator=within(0, 65535),
    ),
]
AtOnce = Annotated[int, Parameter(validator=within(1, MAX_AT_ONCE))]


LOOP = "trimtab.cli.run.loop:"
app.command(f"{LOOP}projector", name="projector", help="Make files of a lab's policy and rules.")
app.command(f"{LOOP}scenario", name="scenario", help="Make a scenario's VMs, play its events.")
app.command(f"{LOOP}soft_tainter", name="soft-tainter", help="Taint fuller nodes softly.")
app.command(
    "trimtab.cli.run.machines:machine_config_operator",
    name="machine-config-operator",
    help="Play OpenShift's machine-config operator in a lab.",
)
app.command(
    "trimtab.cli.run.advisor:advisor", name="advisor", help="Carry out VirtPlatformConfigs."
)
app.command(
    "trimtab.cli.run.qos:qos",
    name="qos",
    help="Accounts of availability, stamps, the page.",
    help_epilogue=examples(
        "trimtab run qos --certificate tls.crt --key tls.key",
        "trimtab run qos --measure-only --bindings ''",
    ),
)

WRITES_PER_S, BURST = 200, 400  # 1,000 VMs are started in less than a minute


def client(kubeconfig: Path | None, service: str) -> "Client":
    """A service's connection: as its ServiceAccount, or whoever the kubeconfig says."""
    from trimtab.kube.client import Client

    options: dict[str, Any] = {
        "manager": f"trimtab-{service}",
        "writes_per_s": WRITES_PER_S,
        "burst": BURST,
    }
    if kubeconfig is None:
        return Client.in_cluster(**options)
    return Client.from_kubeconfig(kubeconfig, **options)


for _name, _help in help_texts().items():
    _path = f"trimtab.cli.run.service:{_name.replace('-', '_')}"
    app.command(_path, name=_name, help=_help)


@app.command(
    help_epilogue=examples(
        "trimtab run exporter --kubeconfig pki/exporter.kubeconfig",
        "trimtab run exporter --scenario examples/scenarios/one-hot-node.yaml",
        "curl http://localhost:8000/metrics",
    )
)
def exporter(
    *,
    kubeconfig: Kubeconfig = None,
    listen: str = "127.0.0.1:8000",
    node_exporter: Annotated[bool, Parameter(negative="")] = False,
    allow_scenario: Annotated[bool, Parameter(negative="")] = False,
    token_file: Path | None = None,
    scenario: str | None = None,
    namespace: str = "default",
    node_selector: str = "kubevirt.io/schedulable=true",
    pressure: str | None = None,
    log_level: LogLevel = "info",
) -> None:
    """Serve the metrics of every node, made of the virt-launcher pods on it.

    Also serves /health, /refresh, /feedback, /scenario, /healthz and /readyz. A scrape costs
    no request to the API server. Without Kubernetes it goes by the scenario alone.

    Parameters
    ----------
    listen
        Address and port; port 0 takes a free one.
    node_exporter
        Add the counters that production rules read; scrape with honor_labels.
    allow_scenario
        Let POST /scenario and /feedback create VMs and migrations.
    token_file
        A file with a token: only with it may one write. Without the option, this computer may.
    scenario
        A scenario file whose VMs are created at the start; file.json#name chooses one of several.
    namespace
        Where VMs of scenarios are created, and VMs are meant that are named without one.
    node_selector
        Labels of the nodes that have metrics: those that the descheduler looks at.
    pressure
        The pressure curve of a scenario file, as JSON.
    """
    from trimtab import obs
    from trimtab.exporter.service import NAME, Settings, address, pressure_from, serve
    from trimtab.kube.runtime.service import run
    from trimtab.model.load.pressure import DEFAULT_PRESSURE

    obs.configure(log_level)
    host, port = address(listen)
    settings = Settings(
        host=host,
        port=port,
        production=node_exporter,
        allow_scenario=allow_scenario,
        token_file=token_file,
        scenario=scenario,
        namespace=namespace,
        node_selector=node_selector,
        pressure=DEFAULT_PRESSURE if pressure is None else pressure_from(pressure),
    )
    try:
        connection = client(kubeconfig, NAME)
    except ConfigError:
        if kubeconfig is not None or scenario is None:
            raise
        connection = None  # not in a pod either: the scenario is all there is
    run(serve(connection, settings))
