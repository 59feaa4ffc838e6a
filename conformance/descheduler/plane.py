"""An API server without anybody beside it, the stubs, and one descheduler at a time.

No scheduler, no controllers, no kubelets: nobody changes the cluster but the harness and the
evictions. Admission plugins that would fill in priorities, taints or tolerations are off.
"""

import asyncio
import base64
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from conformance.apiserver import ApiServer
from conformance.descheduler.stubs import Stubs
from trimtab.engines import locate
from trimtab.kube.http.web import Tls, Web

TOKEN = {"namespace": "kube-system", "name": "prometheus-token"}
_ADMISSION = "Priority,DefaultTolerationSeconds,TaintNodesByCondition,RuntimeClass"
_STUB = {"name": "stub", "namespace": "kube-system"}


class Plane(ApiServer):
    """The API server of one worker, in a directory that also suits the descheduler."""

    def prepare(self) -> Tls:
        """What the descheduler reads beside its kubeconfig, and a certificate for the stubs."""
        (self.directory / "pki").mkdir()
        shutil.copy(self.directory / "ca.crt", self.directory / "pki" / "ca.crt")
        pair = self.ca.issue_cert("127.0.0.1", "localhost")
        chain = b"".join(blob.bytes() for blob in pair.cert_chain_pems)
        return Tls(
            self._secret("stub.crt", chain), self._secret("stub.key", pair.private_key_pem.bytes())
        )

    def _spawn(self, program: str, *flags: str) -> "subprocess.Popen[bytes]":
        if program == "kube-apiserver":
            flags = (*flags, f"--disable-admission-plugins={_ADMISSION}")
        return super()._spawn(program, *flags)

    def objects(self, port: int) -> list[dict[str, Any]]:
        """What makes the API server ask the stubs at `port`, and the token for Prometheus."""
        ca = base64.b64encode((self.directory / "ca.crt").read_bytes()).decode()
        token = base64.b64encode(b"any").decode()
        return [
            {"apiVersion": "v1", "kind": "Secret", "metadata": TOKEN}
            | {"data": {"prometheusAuthToken": token}},
            _webhook(f"https://127.0.0.1:{port}/evict", ca),
            {"apiVersion": "v1", "kind": "Service", "metadata": _STUB}
            | {"spec": {"type": "ExternalName", "externalName": "localhost"}},
            _metrics_api(port),
        ]

    async def start_descheduler(
        self, policy: str, interval: str, background: bool
    ) -> asyncio.subprocess.Process:
        """A real one; its log is its standard error."""
        (self.directory / "policy.yaml").write_text(policy)
        flags = (
            f"--kubeconfig={self.kubeconfig}",
            "--policy-config-file=policy.yaml",
            f"--descheduling-interval={interval}",
            f"--feature-gates=EvictionsInBackground={str(background).lower()}",
            "--secure-port=0",
            "--client-connection-qps=500",
            "--client-connection-burst=1000",
            "--logging-format=text",
            "--v=4",
        )
        return await asyncio.create_subprocess_exec(
            str(locate("descheduler")),
            *flags,
            cwd=self.directory,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=1 << 20,
        )


def _webhook(url: str, ca: str) -> dict[str, Any]:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods/eviction"],
    }
    webhook = {
        "name": "evictions.trimtab.dev",
        "clientConfig": {"url": url, "caBundle": ca},
        "rules": [rule],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "evictions"},
        "webhooks": [webhook],
    }


def _metrics_api(port: int) -> dict[str, Any]:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1beta1.metrics.k8s.io"},
        "spec": {
            "group": "metrics.k8s.io",
            "version": "v1beta1",
            "insecureSkipTLSVerify": True,
            "service": {**_STUB, "port": port},
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        },
    }


class Running:
    """A plane with its stubs."""

    def __init__(self, plane: Plane, stubs: Stubs, prometheus: str, tls_port: int) -> None:
        self.plane, self.stubs = plane, stubs
        self.prometheus, self.tls_port = prometheus, tls_port


@asynccontextmanager
async def running_plane() -> AsyncIterator[Running]:
    """For the time of the block; nothing is left of it afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="trimtab-conformance-"))
    plane, stubs = Plane(directory), Stubs()
    webs = [Web(stubs.routes_of_prometheus()), Web(stubs.routes_with_tls(), tls=plane.prepare())]
    serving = [asyncio.create_task(web.run()) for web in webs]
    try:
        await asyncio.to_thread(plane.start)
        yield Running(plane, stubs, f"http://127.0.0.1:{webs[0].port}", webs[1].port)
    finally:
        await _cancel(serving)
        plane.stop()
        shutil.rmtree(directory, ignore_errors=True)


async def _cancel(tasks: Sequence["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await task
