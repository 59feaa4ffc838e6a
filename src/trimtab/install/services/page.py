"""Serve the page: nodes, VMs and moves of the cluster in a browser, over time, and why.

Its own account reads and never writes, and asks the cluster nothing while nobody looks. With
--sign-in viewers bring a token of the cluster: the API server says whose it is and whether they
may look. What they change (--allow-changes) is asked for with their token, not with the page's.
"""

from trimtab.install.rights import Role, at_home, everywhere, right, within
from trimtab.install.service import Connect, Deployment, ServiceSpec
from trimtab.kube.clock import NAME as CLOCK
from trimtab.kube.virtual_machines import GROUP, KUBEVIRT
from trimtab.observe.policy_source import PLACES
from trimtab.observe.wire import MIGRATION_POLICIES, VALIDATING_WEBHOOKS
from trimtab.web.settings import NAME, PageSettings


async def serve(connect: Connect, settings: PageSettings) -> None:
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
    around_kubevirt = {"list": "only where KubeVirt is installed"}
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
            *(
                right(kind.group, [kind.plural], ["list"], unseen=around_kubevirt)
                for kind in (MIGRATION_POLICIES, VALIDATING_WEBHOOKS)
            ),
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


def sign_in_role() -> Role:
    """With --sign-in only, so not in labs: ask who a viewer is, and whether they may look."""
    return everywhere(
        right("authentication.k8s.io", ["tokenreviews"], ["create"]),
        right("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
        part="sign-in",
    )


SERVICE = ServiceSpec(
    name=NAME,
    about=__doc__,
    examples=(
        "trimtab run page --kubeconfig pki/page.kubeconfig --token-file pki/page-looking.token",
        "trimtab run page --token-file token --prometheus http://127.0.0.1:9090 --every 5s",
        "trimtab run page --sign-in --allow-changes --prometheus http://prometheus.monitoring:9090",
    ),
    options=PageSettings,
    serve=serve,
    roles=roles,
    deployment=Deployment(
        file="page/page.yaml",
        note="Nodes, VMs and moves in a browser; viewers sign in with a token of the cluster:"
        "\n  kubectl -n trimtab-system port-forward service/page 8080"
        "\nTo let them act with their own rights add --allow-changes; beyond port-forward put it"
        "\nbehind a proxy with TLS and name that with --name. One replica: sessions are in memory.",
        settings=PageSettings(
            host="0.0.0.0", sign_in=True, prometheus="http://prometheus.monitoring:9090"
        ),
        replicas=1,
        memory="1Gi",
        scratch="128Mi",
        headless=False,
    ),
)
