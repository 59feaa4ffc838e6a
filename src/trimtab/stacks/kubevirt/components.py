"""virt-api, virt-controller and the player of their handlers, as descriptions.

Each program of KubeVirt has its certificate in a directory of its own: it watches that
directory, and any other file that changes there would make it load the certificate again.
"""

from pathlib import Path

from trimtab.engines.programs import KUBEVIRT
from trimtab.install.components import component
from trimtab.lab.components.component import Component, HttpsGet, Restart
from trimtab.lab.components.identity import ServerCert, ServiceIdentity, kubeconfig_file
from trimtab.lab.components.stack import Lab
from trimtab.player.settings import PlayerSettings
from trimtab.stacks.kubevirt.settings import NAMESPACE, KubevirtSettings
from trimtab.stacks.registry import KUBEVIRT_PROGRAMS
from trimtab.stacks.services import virt_handler_player

PLAYER = virt_handler_player.NAME
API_ACCOUNT, CONTROLLER_ACCOUNT = "kubevirt-apiserver", "kubevirt-controller"
HANDLER_ACCOUNT = "kubevirt-handler"
PORTS = KUBEVIRT_PROGRAMS | virt_handler_player.SERVICE.ports
SYNCED_ANNOTATIONS = ("trimtab.dev/load",)
"""Annotations that virt-controller copies from a running VMI to its pod when they change."""
SUBRESOURCES = "/apis/subresources.kubevirt.io/v1"
_AFTER_INSTALLATION = ("kubevirt-status", "tokens", "kube-apiserver")


def servers() -> tuple[ServerCert, ...]:
    return (
        ServerCert("virt-api/server", (f"virt-api.{NAMESPACE}.svc", f"virt-api.{NAMESPACE}")),
        ServerCert("virt-controller/server"),
    )


def services() -> tuple[ServiceIdentity, ...]:
    """KubeVirt's own accounts, and the player's."""
    accounts = (API_ACCOUNT, CONTROLLER_ACCOUNT, HANDLER_ACCOUNT)
    return (
        *(ServiceIdentity(name, namespace=NAMESPACE) for name in accounts),
        ServiceIdentity(PLAYER),
    )


def virt_api(lab: Lab) -> Component:
    url = f"https://127.0.0.1:{lab.port('virt-api')}"
    certificate, key = "pki/virt-api/server.crt", "pki/virt-api/server.key"
    return Component(
        name="virt-api",
        argv=(
            lab.program("virt-api"),
            f"--kubeconfig={kubeconfig_file(API_ACCOUNT)}",
            "--listen=127.0.0.1",
            f"--port={lab.port('virt-api')}",
            "--subresources-only",
            f"--tls-cert-file={certificate}",
            f"--tls-key-file={key}",
            f"--handler-cert-file={certificate}",
            f"--handler-key-file={key}",
            "-v=2",
        ),
        probes=(HttpsGet(f"{url}{SUBRESOURCES}/healthz", anonymous=True),),
        needs=_AFTER_INSTALLATION,
        # it waits five seconds before it stops, for load balancers that a lab does not have
        stop_within_s=1.0,
        restart=_PATIENT,
        url=url,
    )


def virt_controller(lab: Lab) -> Component:
    url = f"https://127.0.0.1:{lab.port('virt-controller')}"
    image = f"quay.io/kubevirt/virt-launcher:{KUBEVIRT}"
    return Component(
        name="virt-controller",
        argv=(
            lab.program("virt-controller"),
            f"--kubeconfig={kubeconfig_file(CONTROLLER_ACCOUNT)}",
            "--listen=127.0.0.1",
            f"--port={lab.port('virt-controller')}",
            f"--launcher-image={image}",
            f"--exporter-image={image.replace('virt-launcher', 'virt-exportserver')}",
            "--prom-cert-file=pki/virt-controller/server.crt",
            "--prom-key-file=pki/virt-controller/server.key",
            # with its three threads a thousand VMs wait for each other
            "--vm-controller-threads=20",
            "--vmi-controller-threads=20",
            "--migration-controller-threads=10",
            f"--additional-launcher-annotations-sync={','.join(SYNCED_ANNOTATIONS)}",
            "-v=2",
        ),
        # it answers from the start; it acts when it leads
        probes=(HttpsGet(f"{url}/leader", '"true"', anonymous=True),),
        needs=_AFTER_INSTALLATION,
        restart=_PATIENT,
        url=url,
    )


def player(lab: Lab, settings: KubevirtSettings) -> Component:
    return component(
        lab,
        virt_handler_player.SERVICE,
        PlayerSettings(
            handler_kubeconfig=Path(kubeconfig_file(HANDLER_ACCOUNT)),
            bandwidth=settings.bandwidth,
            dirty_rate=settings.dirty_rate,
            cpu_model=settings.cpu_models,
        ),
        ready="nodes-fit",
        shows="every node",
        needs=(*_AFTER_INSTALLATION, "nodes-ready"),
    )


# The lease of a killed virt-controller lasts 15 s, and virt-api computes for 5 s before it serves.
_PATIENT = Restart(quick_s=2.0)
