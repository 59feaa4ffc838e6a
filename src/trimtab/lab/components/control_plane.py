"""etcd, the API server and the controller manager, as descriptions.

The exact command lines are what tests/unit/lab/golden shows. Each surprising flag has its reason
beside it.
"""

from trimtab.files.yaml import as_yaml
from trimtab.kube.http.callers import API_SERVER as WEBHOOK_CLIENT
from trimtab.lab.components.component import ApiGet, Component, HttpsGet, SocketAccepts
from trimtab.lab.components.identity import ClientCert, ServerCert, kubeconfig_file
from trimtab.lab.components.kwok import lease_s
from trimtab.lab.components.stack import Lab

# etcd wants host:port even for a unix socket, so the path is relative and has no slash:
# etcd and the API server must share their working directory. `:0` is part of the file's name.
ETCD_SOCKET = "etcd.sock:0"
PEER_SOCKET = "peer.sock:0"
ADMISSION_FILE = "config/admission.yaml"
WEBHOOK_CREDENTIALS = "config/webhook-credentials.yaml"

PORTS = {
    "kube-apiserver": 6443,
    "kube-controller-manager": 10257,
    "kube-scheduler": 10259,
    "kwok": 10247,
}


def identities(lab: Lab) -> tuple[tuple[ClientCert, ...], tuple[ServerCert, ...]]:
    """Client certificates of the programs and of the two who may do everything; server ones."""
    clients = (
        ClientCert("admin", "admin", ("system:masters",)),
        ClientCert("supervisor", "trimtab-supervisor", ("system:masters",)),
        ClientCert("kube-controller-manager", "system:kube-controller-manager"),
        ClientCert("kube-scheduler", "system:kube-scheduler"),
        ClientCert("kwok", "kwok"),
        ClientCert(WEBHOOK_CLIENT, WEBHOOK_CLIENT),
    )
    names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.96.0.1")
    servers = (
        ServerCert("kube-apiserver-server", (*names, lab.spec.listen, *lab.spec.hosts)),
        ServerCert("kube-controller-manager-server"),
        ServerCert("kube-scheduler-server"),
    )
    return clients, servers


def admission_files(lab: Lab) -> dict[str, str]:
    """Files that make the API server show webhooks a certificate; they refuse other callers.

    The certificate gives no rights; its name is what the webhooks expect.
    """
    user = {
        "client-certificate": str(lab.dir / f"pki/{WEBHOOK_CLIENT}.crt"),
        "client-key": str(lab.dir / f"pki/{WEBHOOK_CLIENT}.key"),
    }
    credentials = {
        "apiVersion": "v1",
        "kind": "Config",
        "users": [{"name": "*", "user": user}],  # whatever the webhook's address
    }
    configuration = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(lab.dir / WEBHOOK_CREDENTIALS),
    }
    admission = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [
            {"name": name, "configuration": configuration}
            for name in ("ValidatingAdmissionWebhook", "MutatingAdmissionWebhook")
        ],
    }
    return {
        WEBHOOK_CREDENTIALS: as_yaml(credentials),
        ADMISSION_FILE: as_yaml(admission),
    }


def etcd(lab: Lab) -> Component:
    client, peer = f"unix://{ETCD_SOCKET}", f"unix://{PEER_SOCKET}"
    return Component(
        name="etcd",
        argv=(
            lab.program("etcd"),
            "--name=n0",
            "--data-dir=data/etcd",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=n0={peer}",
            "--unsafe-no-fsync",  # a killed process loses nothing; only a power cut might
            "--quota-backend-bytes=4294967296",
            "--log-level=warn",
        ),
        probes=(SocketAccepts(ETCD_SOCKET),),
    )


def kube_apiserver(lab: Lab) -> Component:
    port = lab.port("kube-apiserver")
    return Component(
        name="kube-apiserver",
        argv=(
            lab.program("kube-apiserver"),
            f"--etcd-servers=unix://{ETCD_SOCKET}",
            f"--secure-port={port}",
            f"--bind-address={lab.spec.listen}",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            "--tls-cert-file=pki/kube-apiserver-server.crt",
            "--tls-private-key-file=pki/kube-apiserver-server.key",
            "--client-ca-file=pki/ca.crt",
            f"--admission-control-config-file={ADMISSION_FILE}",
            *_aggregation(),
            "--service-account-key-file=pki/sa.key",
            "--service-account-signing-key-file=pki/sa.key",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--authorization-mode=Node,RBAC",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--profiling=false",
            "--enable-priority-and-fairness=false",
            "--max-requests-inflight=0",
            "--max-mutating-requests-inflight=0",
            # an open watch would otherwise hold up the exit for a minute
            "--shutdown-watch-termination-grace-period=2s",
        ),
        probes=(HttpsGet(f"{lab.server}/readyz"),),
        needs=("etcd",),
        url=lab.server,
    )


def _aggregation() -> tuple[str, ...]:
    """What lets other API servers stand behind this one, such as KubeVirt's.

    The CA is the lab's only one, so the name decides: a certificate of anybody else in the lab
    may not speak for others. It is the name that webhooks see too, because KubeVirt has one port
    for both and lets no other name in.
    """
    return (
        "--requestheader-client-ca-file=pki/ca.crt",
        f"--requestheader-allowed-names={WEBHOOK_CLIENT}",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file=pki/{WEBHOOK_CLIENT}.crt",
        f"--proxy-client-key-file=pki/{WEBHOOK_CLIENT}.key",
    )


def kube_controller_manager(lab: Lab) -> Component:
    port, config = (
        lab.port("kube-controller-manager"),
        kubeconfig_file("kube-controller-manager"),
    )
    return Component(
        name="kube-controller-manager",
        argv=(
            lab.program("kube-controller-manager"),
            f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            f"--secure-port={port}",
            "--bind-address=127.0.0.1",
            "--tls-cert-file=pki/kube-controller-manager-server.crt",
            "--tls-private-key-file=pki/kube-controller-manager-server.key",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            # it would write to every node whenever their number passes 100, 500 or 1,000
            "--controllers=*,-ttl-controller",
            "--root-ca-file=pki/ca.crt",
            "--service-account-private-key-file=pki/sa.key",
            f"--node-monitor-grace-period={lease_s(lab.spec.nodes) + 10}s",
            "--kube-api-qps=5000",
            "--kube-api-burst=10000",
            "--profiling=false",
        ),
        # the account is its first visible deed, and without it no pod can be created
        probes=(
            HttpsGet(f"https://127.0.0.1:{port}/healthz"),
            ApiGet("/api/v1/namespaces/default/serviceaccounts/default"),
        ),
        needs=("kube-apiserver",),
    )
