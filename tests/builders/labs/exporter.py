"""The exporter as a stack of a lab, beside `vm_stack()`: its own process and service account."""

from builders.labs.vm import trimtab
from trimtab.install.rights import granted
from trimtab.install.services import exporter
from trimtab.lab.components.component import Component, HttpGet
from trimtab.lab.components.identity import ServiceIdentity, kubeconfig_file
from trimtab.lab.components.stack import Lab, Stack, StackContribution


def exporter_stack(*flags: str, allow_scenario: bool = False) -> Stack:
    """`flags` are passed to `trimtab run exporter`."""
    options = (*flags, "--allow-scenario") if allow_scenario else flags

    roles = exporter.roles() if allow_scenario else exporter.reading()

    def contribute(lab: Lab) -> StackContribution:
        port = lab.port("exporter")
        config = kubeconfig_file("exporter")
        program = Component(
            name="exporter",
            argv=trimtab(
                "run",
                "exporter",
                f"--kubeconfig={config}",
                f"--listen=127.0.0.1:{port}",
                *options,
            ),
            probes=(HttpGet(f"http://127.0.0.1:{port}/readyz"),),
            needs=("tokens", "kube-apiserver"),
            url=f"http://127.0.0.1:{port}",
        )
        return StackContribution(
            components=(program,),
            services=(ServiceIdentity("exporter"),),
            objects=tuple(granted("exporter", roles)),
        )

    return Stack(name="exporter", contribute=contribute, ports={"exporter": 8000})
