"""A lab with the real KubeVirt for tests, and what to ask of it.

    with running_kubevirt(tmp_path_factory) as kubevirt:
        kubevirt.create("web")
        kubevirt.await_running("web")

Its programs are compiled only when they are asked for, so tests that need them say so.
"""

import asyncio
import os
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import pytest

from builders.labs.lab import RunningLab, running_lab
from builders.waiting import LIMIT_S, wait_until
from trimtab.engines import cache_dir, chosen, locate
from trimtab.engines.cache import find
from trimtab.kube.client import Client
from trimtab.kube.errors import NotFound, TooManyRequests, Unavailable
from trimtab.kube.kubevirt import KUBEVIRT_VMS, VMIMS, VMIS, Vmi, Vmim
from trimtab.kube.resources import PODS, Pod
from trimtab.kube.virtual_machines import LAUNCHER_LABEL
from trimtab.lab.components.stack import Stack
from trimtab.stacks.kubevirt.settings import KubevirtSettings
from trimtab.stacks.kubevirt.stack import kubevirt_stack
from trimtab.vm.kubevirt_requests import KubevirtRequests

T = TypeVar("T")
EVICTION_TRIES = 20
_BUILT = all(find(each.name, cache_dir(os.environ)) for each in chosen(("kubevirt",)))
needs_kubevirt = pytest.mark.skipif(
    not _BUILT, reason="KubeVirt is not built; run: trimtab engines build kubevirt"
)


class KubevirtLab:
    """KubeVirt in a running lab; everything here may be called from a plain test."""

    def __init__(self, lab: RunningLab) -> None:
        self.lab = lab

    def ask(self, question: Callable[[Client], Awaitable[T]]) -> T:
        async def asked() -> T:
            config = self.lab.kubeconfig
            async with Client.from_kubeconfig(config, manager="test", limit_s=60.0) as client:
                return await question(client)

        return asyncio.run(asked())

    def request(self, question: Callable[[KubevirtRequests], Awaitable[T]]) -> T:
        """Ask what `trimtab vm` asks."""
        return self.ask(lambda client: question(KubevirtRequests(client, timeout_s=LIMIT_S)))

    def create(self, *names: str, **spec: Any) -> None:
        size = {"resources": {"cpu": "1", "memory": "1Gi"}, **spec}
        for name in names:
            self.request(lambda requests, name=name: requests.create(name, size))  # type: ignore[misc]
        for name in names:
            self.await_running(name)

    def await_running(self, name: str) -> str:
        vm = self.request(lambda requests: requests.await_running(name))
        return vm.status.node_name

    def vmis(self) -> list[Vmi]:
        return list(self.ask(lambda client: client.list(VMIS)))

    def vmi(self, name: str) -> Vmi:
        return self.ask(lambda client: client.get(VMIS, name, "default"))

    def migrations(self) -> list[Vmim]:
        return list(self.ask(lambda client: client.list(VMIMS)))

    def launchers(self, name: str = "") -> list[Pod]:
        labels = "=".join(LAUNCHER_LABEL) + (f",vm.kubevirt.io/name={name}" if name else "")
        return list(self.ask(lambda client: client.list(PODS, labels=labels)))

    def running_launchers(self, name: str = "") -> list[Pod]:
        return [pod for pod in self.launchers(name) if pod.status.phase == "Running"]

    def evict(self, pod: str) -> str:
        """Ask for an eviction; the answer's text, empty if it was granted."""

        async def asked(client: Client) -> str:
            for _ in range(EVICTION_TRIES):
                try:
                    await client.evict(pod, "default")
                except TooManyRequests as answer:
                    return answer.message
                except Unavailable:  # the webhook has ten seconds, and this computer may be slow
                    await asyncio.sleep(1.0)
                else:
                    return ""
            raise AssertionError(f"nobody answers the eviction of {pod}")

        return self.ask(asked)

    def annotate(self, name: str, **notes: str) -> None:
        names = {f"trimtab.dev/{key.replace('_', '-')}": value for key, value in notes.items()}
        patch = {"metadata": {"annotations": names}}
        self.ask(lambda client: client.patch(VMIS, name, patch, "default"))

    def await_all_over(self) -> None:
        """Until no migration is under way and nobody is to leave a node."""

        def over() -> bool:
            marked = [vmi for vmi in self.vmis() if vmi.status.evacuation_node_name]
            return not marked and all(each.finished for each in self.migrations())

        wait_until(over, "migrations do not end")

    def virtctl(self, *arguments: str) -> str:
        done = subprocess.run(
            [str(locate("virtctl")), f"--kubeconfig={self.lab.kubeconfig}", *arguments],
            env={"PATH": os.defpath, "HOME": str(self.lab.home.path)},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, f"virtctl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def vms(self) -> list[str]:
        """Names of the VirtualMachines, also of stopped ones and those that are being deleted."""
        return [vm.metadata.name for vm in self.ask(lambda client: client.list(KUBEVIRT_VMS))]

    def delete_all(self) -> None:
        """Until a VM of any name can be created: KubeVirt removes the VM after its VMI."""

        async def deleted(client: Client) -> None:
            for vm in await client.list(KUBEVIRT_VMS):
                with suppress(NotFound):
                    await client.delete(KUBEVIRT_VMS, vm.metadata.name, vm.metadata.namespace)

        self.ask(deleted)
        wait_until(
            lambda: not (self.vms() or self.vmis() or self.launchers()), "something of a VM is left"
        )

    def is_gone(self, name: str) -> bool:
        try:
            self.vmi(name)
        except NotFound:
            return True
        return False


@contextmanager
def running_kubevirt(
    tmp_path_factory: pytest.TempPathFactory,
    settings: KubevirtSettings | None = None,
    beside: tuple[Stack, ...] = (),
    **options: Any,
) -> Iterator[KubevirtLab]:
    stacks = (kubevirt_stack(settings or KubevirtSettings()), *beside)
    with running_lab(tmp_path_factory, stacks=stacks, **options) as lab:
        yield KubevirtLab(lab)
