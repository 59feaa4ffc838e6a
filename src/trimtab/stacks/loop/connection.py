"""A running loop from outside: its files, its API server as administrator, its Prometheus."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from trimtab.errors import ConfigError, NotReady
from trimtab.kube.client import Client
from trimtab.kube.kubevirt import VMIMS, VMIS
from trimtab.kube.translate import migration_views
from trimtab.kube.virtual_machines import MIGRATIONS, VirtualMachine, VirtualMachineMigration
from trimtab.kube.worlds import World
from trimtab.lab.files.layout import LabDir
from trimtab.lab.inspection import is_running
from trimtab.lab.spec import LabSpec, name_option
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import Policy
from trimtab.prom.client import Prometheus
from trimtab.stacks.loop.settings import (
    KUBEVIRT_STACK,
    POLICY_FILE,
    STACK,
    LoopSettings,
    from_lab,
)
from trimtab.vm.kubevirt_requests import KubevirtRequests
from trimtab.vm.requests import VmRequests


class Loop(Struct, frozen=True):
    """Everything that a look at the loop needs."""

    lab: LabDir
    spec: LabSpec
    settings: LoopSettings
    api: Client
    prometheus: Prometheus

    @property
    def interval_s(self) -> float:
        """Real seconds between two descheduling cycles."""
        return self.settings.interval(self.spec.clock.scale)

    def url(self, component: str) -> str:
        return f"http://127.0.0.1:{self.spec.ports[component]}"

    @property
    def world(self) -> World:
        """Whose VMs this lab has."""
        return "kubevirt" if KUBEVIRT_STACK in self.spec.stacks else "trimtab"

    def requests(self, namespace: str = "default") -> VmRequests:
        """Requests about VMs, in the words of the kind that this lab has."""
        kind = KubevirtRequests if self.world == "kubevirt" else VmRequests
        return kind(self.api, namespace)

    async def vms(self) -> Sequence[VirtualMachine]:
        """All VMs, of either kind, as trimtab shows them."""
        return await self.requests().all(everywhere=True)

    async def migrations(self) -> Sequence[VirtualMachineMigration]:
        """All migrations, of either kind."""
        if self.world == "kubevirt":
            return migration_views(await self.api.list(VMIMS), await self.api.list(VMIS))
        return await self.api.list(MIGRATIONS)

    def policy_text(self) -> str:
        """The policy that runs: the file that the descheduler has read."""
        file = self.lab.path / POLICY_FILE
        if not file.exists():
            raise NotReady(f"{file} is not written yet; look at: trimtab lab logs projector")
        return file.read_text()

    def policy(self) -> Policy:
        return read_policy(self.policy_text(), POLICY_FILE)


def loop_spec(lab: LabDir) -> LabSpec:
    """The spec of a lab that runs a loop, or an error that says how to get one."""
    spec = lab.read_spec()
    if spec is None or STACK not in spec.stacks:
        raise ConfigError(
            f"lab {lab.name} runs no loop; start it: trimtab lab up{name_option(lab.name)} "
            f"--with {STACK}"
        )
    return spec


@asynccontextmanager
async def open_loop(lab: LabDir, limit_s: float = 10.0) -> AsyncIterator[Loop]:
    """Connections to a lab's loop, if it runs; nothing is asked of them yet."""
    spec = loop_spec(lab)
    if not is_running(lab):
        raise NotReady(
            f"lab {lab.name} is not running; start it: trimtab lab up{name_option(lab.name)}"
        )
    url = f"http://127.0.0.1:{spec.ports['prometheus']}"
    async with (
        Client.from_kubeconfig(lab.kubeconfig, manager="trimtab-cli", limit_s=limit_s) as api,
        Prometheus(url, limit_s=limit_s) as prometheus,
    ):
        yield Loop(lab, spec, from_lab(spec.settings.get(STACK, {})), api, prometheus)
