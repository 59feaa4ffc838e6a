"""A lab with VirtualMachines: the CRDs, the guard, the webhook and the vm-controller.

    with running_lab(tmp_path_factory, stacks=(vm_stack(),), nodes=3) as lab: ...

Both services run as in the product: their own processes, under their own service accounts.
"""

import sys

from trimtab.install.components import objects as service_objects
from trimtab.install.components import webhook_at
from trimtab.install.services import vm_controller as controller
from trimtab.install.services import webhook as evictions
from trimtab.install.vm.eviction_webhook import eviction_webhook
from trimtab.lab.components.component import Component, HttpGet, HttpsGet
from trimtab.lab.components.identity import ServerCert, ServiceIdentity, kubeconfig_file
from trimtab.lab.components.stack import Lab, Stack, StackContribution

PORTS = {"vm-controller": 8085, "webhook": 9443}
TRIMTAB = (sys.executable, "-m", "trimtab.cli")


def vm_stack(
    *,
    controllers: int = 1,
    command: tuple[str, ...] = TRIMTAB,
    **options: object,
) -> Stack:
    """`options` are those of `trimtab run vm-controller`; `command` is what starts `trimtab`."""
    names = controller_names(controllers)
    ports = {name: PORTS["vm-controller"] + 10 * number for number, name in enumerate(names)}
    flags = tuple(f"--{name.replace('_', '-')}={value}" for name, value in options.items())

    def contribute(lab: Lab) -> StackContribution:
        controlling = (vm_controller(lab, name, flags, command) for name in names)
        objects = service_objects(controller.SERVICE, evictions.SERVICE)
        objects.append(eviction_webhook(webhook_at(lab, "webhook")))
        return StackContribution(
            components=(*controlling, eviction_service(lab, command)),
            services=(ServiceIdentity("vm-controller"), ServiceIdentity("webhook")),
            servers=(ServerCert("webhook-server"),),
            objects=tuple(objects),
        )

    return Stack(name="vm", contribute=contribute, ports=ports | {"webhook": PORTS["webhook"]})


def controller_names(count: int) -> list[str]:
    first = ["vm-controller"] if count else []
    return [*first, *(f"vm-controller-{number}" for number in range(2, count + 1))]


def trimtab(*arguments: str) -> tuple[str, ...]:
    return (*TRIMTAB, *arguments)


def vm_controller(
    lab: Lab, name: str, flags: tuple[str, ...], command: tuple[str, ...]
) -> Component:
    port = lab.port(name)
    config = kubeconfig_file("vm-controller")
    return Component(
        name=name,
        argv=(
            *command,
            "run",
            "vm-controller",
            f"--kubeconfig={config}",
            f"--port={port}",
            *flags,
        ),
        probes=(HttpGet(f"http://127.0.0.1:{port}/readyz"),),
        needs=("tokens", "kube-apiserver"),
        url=f"http://127.0.0.1:{port}",
    )


def eviction_service(lab: Lab, command: tuple[str, ...]) -> Component:
    port = lab.port("webhook")
    return Component(
        name="webhook",
        argv=(
            *command,
            "run",
            "webhook",
            f"--kubeconfig={kubeconfig_file('webhook')}",
            f"--port={port}",
            "--certificate=pki/webhook-server.crt",
            "--key=pki/webhook-server.key",
            "--client-ca=pki/ca.crt",
        ),
        probes=(HttpsGet(f"https://127.0.0.1:{port}/readyz"),),
        needs=("tokens", "kube-apiserver"),
        url=f"https://127.0.0.1:{port}",
    )
