"""Keep every VirtualMachine on one active pod, and move it when it is to be evacuated.

Of several replicas one acts (lease trimtab-system/vm-controller). Serves /healthz, /readyz and
/metrics.
"""

from typing import Any

from trimtab.install.rights import FOLLOW, LOOK, Role, at_home, events, everywhere, lease, right
from trimtab.install.service import Connect, Deployment, ServiceSpec
from trimtab.kube.clock import NAME as CLOCK
from trimtab.kube.virtual_machines import GROUP
from trimtab.vm.settings import VmControllerSettings

NAME = "vm-controller"
_DIRECT = {"get": "only while a cache has not seen the controller's own write yet"}
_ENFORCED = (
    "OwnerReferencesPermissionEnforcement asks for it when a pod is created that blocks the "
    "deletion of its VM"
)


async def serve(connect: Connect, settings: VmControllerSettings) -> None:
    from trimtab.vm.controller import serve

    await serve(connect(), settings, host=settings.host, port=settings.port)


def roles() -> tuple[Role, ...]:
    return (
        everywhere(
            # patch: to take away the annotation that asks to cancel an evacuation
            right(GROUP, ["virtualmachines"], [*LOOK, "patch"], unseen=_DIRECT),
            right(GROUP, ["virtualmachines/status", "virtualmachinemigrations/status"], ["patch"]),
            right(
                GROUP,
                ["virtualmachines/finalizers"],
                ["update"],
                unseen={"update": _ENFORCED},
            ),
            # patch: to make the VM an owner of a migration that somebody wrote
            right(
                GROUP,
                ["virtualmachinemigrations"],
                [*LOOK, "create", "patch", "delete"],
                unseen=_DIRECT,
            ),
            right("", ["pods"], [*LOOK, "create", "patch", "delete"], unseen=_DIRECT),
            events(),
        ),
        at_home(*lease(NAME), right("", ["configmaps"], FOLLOW, only=[CLOCK])),
    )


def kinds() -> list[dict[str, Any]]:
    from trimtab.install.vm.crd import crds

    return crds()


def admission() -> list[dict[str, Any]]:
    from trimtab.install.vm.launcher_pods_only import launcher_pods_only
    from trimtab.install.vm.pod_deletion_guard import guard

    return [*guard(), *launcher_pods_only()]


SERVICE = ServiceSpec(
    name=NAME,
    about=__doc__,
    examples=(
        "trimtab run vm-controller --kubeconfig pki/vm-controller.kubeconfig --port 8085",
        "trimtab run vm-controller --migration recreate --bandwidth 500Mi",
    ),
    options=VmControllerSettings,
    serve=serve,
    roles=roles,
    kinds=kinds,
    admission=admission,
    deployment=Deployment(
        file="vm-controller.yaml",
        note="Keeps every VirtualMachine on one active pod. Of the two replicas one acts, by the\n"
        "lease trimtab-system/vm-controller.",
        namespace="default",
        settings=VmControllerSettings(host="0.0.0.0"),
        memory="384Mi",
    ),
)
