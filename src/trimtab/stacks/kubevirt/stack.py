"""The stack `kubevirt`: KubeVirt's control plane, unchanged, and the player of its handlers.

Alone it is a lab with KubeVirt's VMs; with the loop it replaces trimtab's own VMs, controller
and webhook. virt-operator is not part of it: what it would install is applied by the lab.
"""

import msgspec
from msgspec import to_builtins

from trimtab.engines.programs import KUBEVIRT
from trimtab.install.components import objects
from trimtab.lab.components.component import ApplyObjects, SupervisorTask
from trimtab.lab.components.stack import Lab, Stack, StackContribution
from trimtab.lab.plan import digest
from trimtab.stacks.kubevirt.components import (
    PORTS,
    player,
    servers,
    services,
    virt_api,
    virt_controller,
)
from trimtab.stacks.kubevirt.objects import (
    Manifest,
    catalogue,
    install_objects,
    kubevirt,
    kubevirt_status,
    printed_objects,
)
from trimtab.stacks.kubevirt.settings import STACK, KubevirtSettings
from trimtab.stacks.services import virt_handler_player

STATUS_FILE, CATALOGUE_FILE = "config/kubevirt-status.json", "config/kubevirt-catalogue.json"


def kubevirt_stack(settings: KubevirtSettings) -> Stack:
    """The stack of these settings; its programs must be built when it contributes."""

    def contribute(lab: Lab) -> StackContribution:
        printed = printed_objects(lab.locate("kubevirt-objects"))
        files = {
            STATUS_FILE: _json([kubevirt_status(KUBEVIRT)]),
            CATALOGUE_FILE: _json(catalogue(printed)),
        }
        return StackContribution(
            components=(virt_api(lab), virt_controller(lab), player(lab, settings)),
            tasks=(
                _apply("kubevirt-status", STATUS_FILE, files, ("objects",), status=True),
                _apply("kubevirt-catalogue", CATALOGUE_FILE, files, ("virt-api",)),
            ),
            servers=servers(),
            services=services(),
            files=files,
            objects=(
                *install_objects(printed, lab.port("virt-api")),
                kubevirt(settings),
                *objects(virt_handler_player.SERVICE),
            ),
        )

    return Stack(name=STACK, contribute=contribute, ports=PORTS, settings=to_builtins(settings))


def _apply(
    name: str, file: str, files: dict[str, str], needs: tuple[str, ...], *, status: bool = False
) -> SupervisorTask:
    return SupervisorTask(
        name=name,
        action=ApplyObjects(file, digest(files[file]), status=status),
        needs=("kube-apiserver", *needs),
    )


def _json(things: list[Manifest]) -> str:
    return msgspec.json.encode(things).decode()
