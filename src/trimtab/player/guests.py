"""The guest of a VMI: its size, how much it uses over time, how fast it changes its memory.

All of it is in the VMI: the size in its spec, use and dirty rate in annotations that a scenario
writes. KubeVirt copies a VM template's annotations to the VMI.
"""

import msgspec
from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.kube.kubevirt import DIRTY_RATE, Vmi
from trimtab.kube.virtual_machines import LOAD, Load, decode_load
from trimtab.model.load.curve import Constant, check_curve, value_at
from trimtab.model.quantity import parse_quantity
from trimtab.obs import get_logger

DEFAULT_CPU, DEFAULT_MEMORY = Constant(0.5), Constant(0.8)
log = get_logger()


class Guest(Struct, frozen=True):
    """Cores and bytes that it has, curves of the share that it uses, bytes a second it changes."""

    load: Load
    dirty_rate: float | None = None

    def memory_used(self, lab_s: float) -> float:
        return self.load.bytes * min(value_at(self.load.memory, lab_s), 1.0)

    def cores_wanted(self, lab_s: float) -> float:
        return self.load.cores * value_at(self.load.cpu, lab_s)


def guest_of(vmi: Vmi) -> Guest:
    """The guest; an annotation that makes no sense is told and not followed."""
    annotations = vmi.metadata.annotations
    load = Load(_cores(vmi), _bytes(vmi), DEFAULT_CPU, DEFAULT_MEMORY)
    rate = None
    try:
        if text := annotations.get(LOAD):
            load = decode_load(text)
            check_curve(load.cpu, LOAD)
            check_curve(load.memory, LOAD, most=1)
        if text := annotations.get(DIRTY_RATE):
            rate = float(parse_quantity(text, DIRTY_RATE))
    except (msgspec.MsgspecError, ConfigError) as error:
        log.warning("annotation ignored", vmi=str(vmi.metadata.key), error=str(error))
    return Guest(load, rate)


def guest_memory(vmi: Vmi) -> str:
    """The guest's memory as Go writes a quantity: with the largest unit that leaves no rest.

    virt-controller compares what it read with what is stored, and it reads 2048Mi as 2Gi.
    """
    size = round(_bytes(vmi))
    for power, unit in ((4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")):
        if size and size % 1024**power == 0:
            return f"{size // 1024**power}{unit}"
    return str(size)


def vcpus(vmi: Vmi) -> int:
    """As libvirt would be told."""
    cpu = vmi.spec.domain.cpu
    return cpu.count if cpu.cores or cpu.sockets or cpu.threads else max(1, round(_cores(vmi)))


def _cores(vmi: Vmi) -> float:
    domain = vmi.spec.domain
    if domain.cpu.cores or domain.cpu.sockets or domain.cpu.threads:
        return float(domain.cpu.count)
    asked = domain.resources.limits.get("cpu") or domain.resources.requests.get("cpu") or "1"
    return _number(asked)


def _bytes(vmi: Vmi) -> float:
    domain = vmi.spec.domain
    return _number(domain.memory.guest or domain.resources.requests.get("memory") or "1Gi")


def _number(text: str | int) -> float:
    return float(parse_quantity(text, "spec.domain"))
