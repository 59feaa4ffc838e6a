"""`trimtab lab up --with qos`: from its options to the stack."""

from msgspec import structs

from trimtab.errors import ConfigError
from trimtab.lab import Home, Stack
from trimtab.lab.inspection import is_running
from trimtab.lab.spec import name_option
from trimtab.loop.qos_stack import STACK, QosSettings, from_lab, qos_stack


def stack_of(
    home: Home, name: str, stacks: tuple[str, ...] | None, measure_only: bool | None
) -> Stack:
    """The stack as the options say; what is not given stays as it was in this lab."""
    lab = home.lab(name)
    old = lab.read_spec()
    if measure_only is not None and STACK not in (stacks or (old.stacks if old else ())):
        raise ConfigError(f"--measure-only belongs to the queue; add --with {STACK}")
    kept = old.settings.get(STACK) if old else None
    settings = from_lab(kept) if kept else QosSettings()
    if measure_only not in (None, settings.measure_only) and is_running(lab):
        raise ConfigError(
            f"lab {name} is running, so --measure-only cannot be taken; "
            f"stop it first: trimtab lab down{name_option(name)}"
        )
    if measure_only is not None:
        settings = structs.replace(settings, measure_only=measure_only)
    return qos_stack(settings)
