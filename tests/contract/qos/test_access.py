"""An exposed page: whom the API server vouches for may read it, nobody else."""

import base64

import msgspec

from builders.values.qos import running_qos
from trimtab.install.qos.manifests import PAGE_READER
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.resources import SERVICE_ACCOUNTS, free_kind
from trimtab.qos.settings import QosSettings

BINDINGS = free_kind(
    "rbac.authorization.k8s.io",
    "v1",
    "clusterrolebindings",
    "ClusterRoleBinding",
    namespaced=False,
)
ELSEWHERE = {"host": "qos.example.org"}


async def token_of(client: Client, namespace: str, name: str) -> str:
    await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": name}}, namespace)
    path = SERVICE_ACCOUNTS.path(namespace, name, "token")
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await client.request("POST", path, body=msgspec.json.encode(body))
    token: str = msgspec.json.decode(answer)["status"]["token"]
    return token


async def test_a_caller_from_elsewhere_needs_a_token_and_the_role(
    client: Client, account: Client, namespace: str
) -> None:
    reader, stranger = [await token_of(client, namespace, name) for name in ("reader", "stranger")]
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": PAGE_READER}
    binding = {"metadata": {"name": namespace}, "roleRef": role, "subjects": [subject]}
    await apply(client, BINDINGS, binding, force=True)
    settings = QosSettings(port=0, bindings="", address="0.0.0.0", measure_only=True)
    async with running_qos(account, settings) as running:
        codes = {}
        for who, token in (("reader", reader), ("stranger", stranger), ("forged", forged(reader))):
            headers = ELSEWHERE | {"authorization": f"Bearer {token}"}
            codes[who] = (await running.http.get("/", headers=headers)).status_code
        codes["nobody"] = (await running.http.get("/", headers=ELSEWHERE)).status_code
        codes["metrics"] = (await running.http.get("/metrics", headers=ELSEWHERE)).status_code
        codes["health"] = (await running.http.get("/healthz", headers=ELSEWHERE)).status_code
        codes["here"] = (await running.http.get("/")).status_code
    assert codes == {
        "reader": 200,
        "stranger": 403,
        "forged": 401,
        "nobody": 401,
        "metrics": 401,
        "health": 200,
        "here": 200,
    }


def forged(token: str) -> str:
    head, _, tail = token.split(".")
    body = base64.urlsafe_b64encode(b'{"sub":"system:admin"}').decode().rstrip("=")
    return f"{head}.{body}.{tail}"
