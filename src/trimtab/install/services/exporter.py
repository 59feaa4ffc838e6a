"""Serve the metrics of every node, made of the virt-launcher pods on it.

Also serves /health, /refresh, /feedback, /scenario, /healthz and /readyz. A scrape costs no
request to the API server. Without Kubernetes it goes by the scenario alone.
"""

from pathlib import Path

from trimtab.errors import ConfigError
from trimtab.exporter.settings import NAME, ExporterSettings
from trimtab.install.rights import FOLLOW, Role, at_home, everywhere, right, within
from trimtab.install.service import Connect, Deployment, Mount, ServiceSpec
from trimtab.kube.clock import NAME as CLOCK
from trimtab.kube.virtual_machines import GROUP


async def serve(connect: Connect, settings: ExporterSettings) -> None:
    from trimtab.exporter.service import serve

    try:
        client = connect()
    except ConfigError:
        if connect.kubeconfig is not None or settings.scenario is None:
            raise
        client = None  # not in a pod either: the scenario is all there is
    await serve(client, settings)


def roles() -> tuple[Role, ...]:
    """What it reads, and for `--allow-scenario` what it writes."""
    return (*reading(), writing())


def reading() -> tuple[Role, ...]:
    return (
        everywhere(
            right("", ["pods", "nodes"], FOLLOW),
            right(GROUP, ["virtualmachines"], FOLLOW),
        ),
        at_home(right("", ["configmaps"], FOLLOW, only=[CLOCK])),
    )


def writing(namespace: str = "default") -> Role:
    return within(
        namespace,
        right(GROUP, ["virtualmachines"], ["create", "delete"]),
        right(GROUP, ["virtualmachinemigrations"], [*FOLLOW, "create"]),
        part="scenario",
    )


SERVICE = ServiceSpec(
    name=NAME,
    about=__doc__,
    examples=(
        "trimtab run exporter --kubeconfig pki/exporter.kubeconfig",
        "trimtab run exporter --scenario examples/scenarios/one-hot-node.yaml",
        "curl http://localhost:8000/metrics",
    ),
    options=ExporterSettings,
    serve=serve,
    roles=roles,
    deployment=Deployment(
        file="metrics-exporter.yaml",
        note="Node metrics from virt-launcher pods. POST /scenario, /feedback and /refresh need\n"
        "the token of the secret metrics-exporter-token, unless they come through\n"
        "`kubectl port-forward`. The secret comes from k8s/make-secrets.sh; until that has run,\n"
        "the pod waits. One replica: counters are its own, two would double them.",
        app="metrics-exporter",
        namespace="monitoring",
        settings=ExporterSettings(
            host="0.0.0.0",
            production=True,
            allow_scenario=True,
            token_file=Path("/token/token"),
        ),
        replicas=1,
        recreate=True,
        mounts=(Mount(name="token", path="/token", secret="metrics-exporter-token"),),
        headless=False,
    ),
)
