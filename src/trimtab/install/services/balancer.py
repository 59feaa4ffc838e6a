"""Level the cluster with few VM migrations: observe, propose plans, or act.

It reads the cluster every --interval, plans as `trimtab balance plan` does, and keeps its plans
and what became of them as RebalancePlan objects. In `observe` it moves nothing. In `propose` a
plan waits for `trimtab balance approve PLAN`. In `act` it carries its plans out, within limits,
as migrations (KubeVirt's or trimtab's own), never as evictions. It pauses by itself and says why.

KubeVirt's migrations ask for a label, trimtab.dev/cool, which the balancer puts on the nodes that
suit and takes away once the scheduler has chosen one of them.

Of several replicas one acts (lease trimtab-system/balancer). Serves /healthz, /readyz and
/metrics.
"""

from typing import Any

from trimtab.balancer.settings import NAME, BalancerSettings
from trimtab.install.rights import Role, at_home, events, everywhere, lease, right, within
from trimtab.install.service import Connect, Deployment, ServiceSpec
from trimtab.kube.clock import NAME as CLOCK
from trimtab.kube.virtual_machines import GROUP, KUBEVIRT

_KUBEVIRT_ONLY = "only where VMs are KubeVirt's"


async def serve(connect: Connect, settings: BalancerSettings) -> None:
    from trimtab.balancer.service import serve

    await serve(connect(), settings)


def roles() -> tuple[Role, ...]:
    return (
        everywhere(
            right("", ["pods", "nodes", "resourcequotas"], ["list"]),
            right("policy", ["poddisruptionbudgets"], ["list"]),
            right("", ["nodes"], ["patch"], unseen={"patch": _KUBEVIRT_ONLY}),
            right(GROUP, ["virtualmachines"], ["list"]),
            right(
                KUBEVIRT,
                ["virtualmachineinstances", "kubevirts"],
                ["list"],
                unseen={"list": _KUBEVIRT_ONLY},
            ),
            right(
                KUBEVIRT,
                ["virtualmachineinstancemigrations"],
                ["list", "create", "delete"],
                unseen=dict.fromkeys(("list", "create", "delete"), _KUBEVIRT_ONLY),
            ),
            right(
                GROUP,
                ["virtualmachinemigrations"],
                ["list", "create", "delete"],
                unseen={"delete": "only when somebody cancels a plan while a VM moves"},
            ),
            right(
                GROUP,
                ["rebalanceplans"],
                ["list", "create", "delete"],
                unseen={"delete": "only once more than 50 plans are over"},
            ),
            right(GROUP, ["rebalanceplans/status"], ["patch"]),
            events(),
        ),
        at_home(*lease(NAME), right("", ["configmaps"], ["get"], only=[CLOCK])),
        within("kube-descheduler", right("", ["configmaps"], ["get"], only=["descheduler-policy"])),
    )


def kinds() -> list[dict[str, Any]]:
    from trimtab.install.balancer.crd import crds

    return crds()


def admission() -> list[dict[str, Any]]:
    from trimtab.install.policies import balancer_policy

    return balancer_policy()


SERVICE = ServiceSpec(
    name=NAME,
    about=__doc__,
    examples=(
        "trimtab run balancer --kubeconfig pki/balancer.kubeconfig",
        "trimtab run balancer --mode propose --band 10",
        "trimtab run balancer --mode act --per-hour 5 --kept-free 3",
    ),
    options=BalancerSettings,
    serve=serve,
    roles=roles,
    kinds=kinds,
    admission=admission,
    deployment=Deployment(
        file="balancer/balancer.yaml",
        note="Levels the cluster with few migrations. It only observes until --mode says otherwise."
        "\nOf the two replicas one acts, by the lease trimtab-system/balancer.",
        settings=BalancerSettings(host="0.0.0.0"),
    ),
)
