"""What a VM has, what it uses, and how its pod says so."""

from decimal import Context, Decimal
from fractions import Fraction

from trimtab.errors import ConfigError
from trimtab.kube.virtual_machines import (
    Amount,
    Load,
    VirtualMachine,
    VmAmounts,
    VmSpec,
    encode_load,
)
from trimtab.model.limits import MAX_BYTES, MAX_CORES
from trimtab.model.load.curve import Constant, Curve, check_curve, overall_mean, value_at
from trimtab.model.nodes_and_vms import Vm, requested
from trimtab.model.quantity import NANO, Quantity, parse_quantity
from trimtab.vm.settings import VmControllerSettings

_EXACT = Context(prec=60)  # bytes over 128 GiB have at most 46 digits; nothing is rounded


def machine(vm: VirtualMachine) -> Vm:
    """The VM as the model knows it; a ConfigError says what its spec gets wrong."""
    spec = vm.spec
    cpu, memory = curves(spec)
    check_curve(cpu, _use_field(spec, "cpu"))
    check_curve(memory, _use_field(spec, "memory"), most=1)
    return Vm(
        name=vm.metadata.name,
        cpu=_size(spec.resources.cpu, "spec.resources.cpu", MAX_CORES),
        memory=_size(spec.resources.memory, "spec.resources.memory", MAX_BYTES),
        cpu_load=cpu,
        memory_load=memory,
        eviction_strategy=spec.eviction_strategy,
        live_migratable=spec.live_migratable,
    )


def _use_field(spec: VmSpec, resource: str) -> str:
    curve = getattr(spec.load, resource) if spec.load else None
    return f"spec.{'utilization' if curve is None else 'load'}.{resource}"


def _size(text: Amount, field: str, most: int) -> Quantity:
    size, largest = parse_quantity(text, field), Quantity(most * NANO)
    if not 0 < size.nano <= largest.nano:
        raise ConfigError(f"{field}: {text!r} must be above 0 and at most {largest}")
    return size


def curves(spec: VmSpec) -> tuple[Curve, Curve]:
    """CPU and memory use over time; where there is no curve, the constant utilisation."""
    cpu, memory = (spec.load.cpu, spec.load.memory) if spec.load else (None, None)
    return (
        cpu or Constant(spec.utilization.cpu),
        memory or Constant(spec.utilization.memory),
    )


def allocated(vm: Vm) -> VmAmounts:
    return VmAmounts(cpu=str(vm.cpu), memory=str(vm.memory))


def used(vm: Vm) -> tuple[Quantity, Quantity]:
    """Cores and bytes in use, on average where they follow a curve."""
    return vm.cpu.times(_mean(vm.cpu_load)), vm.memory.times(_mean(vm.memory_load))


def _mean(curve: Curve) -> Fraction:
    """0.8 as somebody wrote it, and not as the nearest binary fraction."""
    return Fraction(repr(overall_mean(curve)))


def used_amounts(vm: Vm) -> VmAmounts:
    """The same for people: milli-cores and whole bytes."""
    cpu, memory = used(vm)
    return VmAmounts(
        cpu=str(Quantity(cpu.milli_value() * (NANO // 1000))),
        memory=str(Quantity(memory.value() * NANO)),
    )


def percents(vm: Vm) -> tuple[int, int]:
    return round(overall_mean(vm.cpu_load) * 100), round(overall_mean(vm.memory_load) * 100)


def memory_in_use(vm: Vm, lab_s: float) -> float:
    """Bytes in use at a moment of the lab's time: what a migration has to copy."""
    return float(vm.memory) * value_at(vm.memory_load, lab_s)


def consumption(vm: Vm, settings: VmControllerSettings) -> tuple[str, str]:
    """The two fractions of the reference node that node-classifier-sim knows, as exact decimals."""
    cpu, memory = used(vm)
    return decimal(cpu, settings.reference_cpu), decimal(memory, settings.reference_memory)


def decimal(amount: Quantity, of: Quantity) -> str:
    share = Fraction(amount.nano, of.nano)
    exact = _EXACT.divide(Decimal(share.numerator), Decimal(share.denominator))
    return f"{exact:f}"


def requests(vm: Vm, settings: VmControllerSettings) -> dict[str, str]:
    cpu, memory = requested(vm, settings.requests)
    return {"cpu": str(cpu), "memory": str(memory)}


def load_annotation(spec: VmSpec, vm: Vm) -> str | None:
    """What the exporter evaluates; None while the use is constant."""
    if spec.load is None:
        return None
    return encode_load(Load(float(vm.cpu), float(vm.memory), vm.cpu_load, vm.memory_load))
