"""The same eviction webhook written with kopf: the other side of a benchmark.

Run as a program: `python kopf_webhook.py PORT CERTIFICATE KEY`, with KUBECONFIG set. It keeps
pods and VMs in kopf's indexes and decides what ours decides when no write is needed.
"""

import logging
import sys
from typing import Any

import kopf


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    port, certificate, key = sys.argv[1:]
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1", port=int(port), certfile=certificate, pkeyfile=key
    )
    settings.posting.enabled = False


@kopf.index("pods", labels={"app": "virt-launcher"})
def launchers(namespace: str | None, name: str, annotations: Any, **_: Any) -> dict[Any, Any]:
    return {(namespace, name): annotations.get("kubevirt.io/domain", "")}


@kopf.index("trimtab.dev", "v1alpha1", "virtualmachines")
def machines(namespace: str | None, name: str, spec: Any, **_: Any) -> dict[Any, Any]:
    return {(namespace, name): (spec["evictionStrategy"], spec["liveMigratable"])}


@kopf.on.validate("pods", subresource="eviction", operations=["CREATE"])
def evict(**given: Any) -> None:
    pod = (given["namespace"], given["name"])
    owners = list(given["launchers"].get(pod, ()))
    if not owners:
        return
    vm = (given["namespace"], owners[0])
    strategy, migratable = next(iter(given["machines"].get(vm, ())))
    if strategy == "None":
        return
    if not migratable:
        message = f'VM "{vm[0]}/{vm[1]}" is not live-migratable'
        given["logger"].info(message)
        raise kopf.AdmissionError(message, code=429)
    raise kopf.AdmissionError("this side of the benchmark does not mark", code=500)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)  # one line a decision, as ours
    kopf.run(standalone=True, clusterwide=True)
