"""Serve the page: nodes, VMs and moves of the lab in a browser, over time, and why.

It changes nothing, and asks the cluster nothing while nobody looks.
"""

from trimtab.install.rights import Role, at_home, everywhere, right, within
from trimtab.install.service import Connect, ServiceSpec
from trimtab.kube.clock import NAME as CLOCK
from trimtab.kube.machines import GROUP, KUBEVIRT
from trimtab.observe.policy_source import PLACES
from trimtab.web.settings import NAME, Settings


async def serve(connect: Connect, settings: Settings) -> None:
    from trimtab.web.service import serve

    await serve(connect(), settings)


def roles() -> tuple[Role, ...]:
    """Read what decides a descheduling cycle, migrations, and other services' plans and promises;
    write nothing."""
    from trimtab.advisor.api import CONFIGS
    from trimtab.balancer.wire import REBALANCE_PLANS
    from trimtab.qos.wire import QOS_ACCOUNTS

    place, policy = PLACES[0]
    machines = ["virtualmachineinstances", "virtualmachineinstancemigrations", "kubevirts"]
    metrics = {"list": "only where the policy asks the metrics server"}
    others = (REBALANCE_PLANS, QOS_ACCOUNTS, CONFIGS)
    map_ = {"get": "a lab's page reads the policy from the file that the descheduler reads"}
    return (
        everywhere(
            right("", ["nodes", "pods", "namespaces", "persistentvolumeclaims"], ["list"]),
            right("", ["resourcequotas"], ["list"]),
            right("policy", ["poddisruptionbudgets"], ["list"]),
            right("scheduling.k8s.io", ["priorityclasses"], ["list"]),
            right("metrics.k8s.io", ["nodes", "pods"], ["list"], unseen=metrics),
            right(GROUP, ["virtualmachines", "virtualmachinemigrations"], ["list"]),
            right(KUBEVIRT, machines, ["list"]),
            *(right(kind.group, [kind.plural], ["list"]) for kind in others),
        ),
        at_home(right("", ["configmaps"], ["get"], only=[CLOCK])),
        within(
            place,
            right("", ["configmaps"], ["get"], only=[policy], unseen=map_),
            right("apps", ["deployments"], ["list"]),
            right("batch", ["cronjobs"], ["list"]),
        ),
    )


SERVICE = ServiceSpec(
    name=NAME,
    about=__doc__,
    examples=(
        "trimtab run page --kubeconfig pki/page.kubeconfig --token-file pki/page-looking.token",
        "trimtab run page --token-file token --prometheus http://127.0.0.1:9090 --every 5s",
    ),
    options=Settings,
    serve=serve,
    roles=roles,
)
