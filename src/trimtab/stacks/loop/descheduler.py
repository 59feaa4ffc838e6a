"""The real descheduler in a lab: its description, its objects, its identity.

It was linked to find its CA in `pki/ca.crt`, so it must run in the lab's directory. Outside a
pod it takes its Prometheus token from a secret; the value does not matter here. Its first
cycle mostly fails because the secret has not been read yet: the second one counts.
"""

import base64
from typing import Any

from trimtab.install.loop.rbac import DESCHEDULER, descheduler_rbac
from trimtab.install.manifests import account
from trimtab.lab.components.component import Component, LogLine
from trimtab.lab.components.identity import ClientCert, ServerCert, kubeconfig_file
from trimtab.lab.components.stack import Lab
from trimtab.scores.prometheus.records import duration
from trimtab.stacks.loop.projector.policy_file import TOKEN_SECRET
from trimtab.stacks.loop.settings import KUBEVIRT_STACK, POLICY_FILE, LoopSettings

Manifest = dict[str, Any]
# the end of a cycle, whether it worked or not: the policy was taken and the caches are full
CYCLE_ENDED = '"Number of evictions/requests"'
IDENTITY = ClientCert(
    # the name of its service account in a cluster, so that it has the same rights here
    "descheduler",
    "system:serviceaccount:" + ":".join(DESCHEDULER),
    ("system:serviceaccounts", f"system:serviceaccounts:{DESCHEDULER[0]}"),
)
CERTIFICATE = ServerCert("descheduler-server")


def vm_keepers(lab: Lab) -> tuple[str, ...]:
    """The components that keep the VMs and answer evictions: KubeVirt's, or trimtab's own."""
    if KUBEVIRT_STACK in lab.spec.stacks:
        return "virt-api", "virt-controller", "virt-handler-player"
    return "webhook", "vm-controller"


def descheduler(lab: Lab, settings: LoopSettings) -> Component:
    interval = duration(settings.interval(lab.spec.clock.scale))
    return Component(
        name="descheduler",
        argv=(
            lab.program("descheduler"),
            f"--kubeconfig={kubeconfig_file('descheduler')}",
            f"--policy-config-file={POLICY_FILE}",
            f"--descheduling-interval={interval}",
            "--feature-gates=EvictionsInBackground=true",
            f"--secure-port={lab.port('descheduler')}",
            "--bind-address=127.0.0.1",
            "--tls-cert-file=pki/descheduler-server.crt",
            "--tls-private-key-file=pki/descheduler-server.key",
            "--client-connection-qps=200",
            "--client-connection-burst=400",
            "--logging-format=text",  # in JSON the thresholds lose their values
            "--v=4",
            *(("--dry-run",) if settings.dry_run else ()),
        ),
        probes=(LogLine(CYCLE_ENDED),),
        needs=("projector", "prometheus", "scenario", *vm_keepers(lab)),
        url=f"http://127.0.0.1:{lab.port('descheduler-metrics')}",
    )


def descheduler_objects() -> list[Manifest]:
    """Its namespace, its account and rights, its token."""
    namespace, name = DESCHEDULER
    token = base64.b64encode(b"any value: this Prometheus asks for none").decode()
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": TOKEN_SECRET["name"], "namespace": namespace},
        "data": {"prometheusAuthToken": token},
    }
    return [account(name, namespace), secret, *descheduler_rbac()]
