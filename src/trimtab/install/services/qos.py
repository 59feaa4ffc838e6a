"""Keep account of every controller's running and waiting time, and stamp its pods.

Serves the table of all controllers at /, JSON at /v1/…, /healthz, /readyz and /metrics. Of
several replicas one stamps and writes checkpoints (lease trimtab-system/qos).
"""

from typing import Any

from trimtab.install.rights import FOLLOW, Role, at_home, events, everywhere, lease, right
from trimtab.install.service import Connect, ServiceSpec
from trimtab.kube.virtual_machines import GROUP as VM_GROUP
from trimtab.kube.virtual_machines import KUBEVIRT
from trimtab.qos.settings import NAME, QosSettings
from trimtab.qos.wire import GROUP

Manifest = dict[str, Any]
_EXPOSED = "a lab's page is on the loopback, where it asks for no token"
_ELSEWHERE = "KubeVirt is not installed in labs"


async def serve(connect: Connect, settings: QosSettings) -> None:
    from trimtab.qos.service.service import serve

    await serve(connect(), settings)


def roles() -> tuple[Role, ...]:
    """Look at pods and what owns them, stamp pods, keep accounts, tell, ask who asks."""
    return (
        everywhere(
            right("", ["pods"], [*FOLLOW, "patch"]),
            right("", ["namespaces", "nodes"], FOLLOW),
            right("apps", ["deployments", "replicasets", "statefulsets", "daemonsets"], FOLLOW),
            right("batch", ["jobs"], FOLLOW),
            right(VM_GROUP, ["virtualmachines"], FOLLOW),
            right(
                KUBEVIRT,
                ["virtualmachines", "virtualmachineinstances"],
                FOLLOW,
                unseen=dict.fromkeys(FOLLOW, _ELSEWHERE),
            ),
            right(GROUP, ["qosaccounts"], ["list", "create", "patch"]),
            right(GROUP, ["qosaccounts/status"], ["patch"]),
            events(),
            right("authentication.k8s.io", ["selfsubjectreviews"], ["create"]),
            right(
                "authentication.k8s.io", ["tokenreviews"], ["create"], unseen={"create": _EXPOSED}
            ),
            right(
                "authorization.k8s.io",
                ["subjectaccessreviews"],
                ["create"],
                unseen={"create": _EXPOSED},
            ),
        ),
        at_home(*lease(NAME)),
    )


def kinds() -> list[Manifest]:
    from trimtab.install.qos.crd import crds

    return crds()


def admission() -> list[Manifest]:
    from trimtab.install.qos.admission import policies

    return policies()


def alerts() -> list[Manifest]:
    from trimtab.install.qos.grafana import alert_group

    return [alert_group()]


SERVICE = ServiceSpec(
    name=NAME,
    about=__doc__,
    examples=(
        "trimtab run qos --certificate tls.crt --key tls.key",
        "trimtab run qos --measure-only --bindings ''",
    ),
    options=QosSettings,
    serve=serve,
    more_ports={"qos-webhook": QosSettings().webhook_port, "qos-bindings": 10001},
    roles=roles,
    kinds=kinds,
    admission=admission,
    alerts=alerts,
)
