"""Plan, apply, watch and take back what VirtPlatformConfigs ask for.

Of several replicas one acts (lease trimtab-system/advisor). Serves /healthz, /readyz and
/metrics, the latter to those whom the API server lets get /metrics.
"""

from typing import Any

from trimtab.advisor.settings import NAME, AdvisorSettings
from trimtab.install.rights import Role
from trimtab.install.service import Connect, Deployment, ServiceSpec

Manifest = dict[str, Any]


async def serve(connect: Connect, settings: AdvisorSettings) -> None:
    from trimtab.advisor.service import serve

    await serve(connect(), settings)


def roles() -> tuple[Role, ...]:
    from trimtab.install.advisor.rbac import operator_roles

    return operator_roles()


def kinds() -> list[Manifest]:
    from trimtab.install.advisor.crd import config_crd

    return [config_crd()]


def admission() -> list[Manifest]:
    from trimtab.install.advisor.admission import policies

    return policies()


def alerts() -> list[Manifest]:
    from trimtab.install.advisor.alerts import alert_groups

    groups: list[Manifest] = alert_groups()["groups"]
    return groups


SERVICE = ServiceSpec(
    name=NAME,
    about=__doc__,
    examples=("trimtab run advisor --open-metrics --kubeconfig ~/.kube/config",),
    options=AdvisorSettings,
    serve=serve,
    roles=roles,
    kinds=kinds,
    admission=admission,
    alerts=alerts,
    deployment=Deployment(
        file="advisor/deployment.yaml",
        settings=AdvisorSettings(host="0.0.0.0", self_signed=True),
        https=True,
        scratch="1Mi",
    ),
)
