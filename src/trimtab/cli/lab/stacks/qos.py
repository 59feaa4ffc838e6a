"""`trimtab lab up --with qos`: from its options to the stack."""

from collections.abc import Mapping

from msgspec import structs

from trimtab.cli.lab.context import kept_settings, refuse_while_running
from trimtab.errors import ConfigError
from trimtab.lab.components.stack import Stack
from trimtab.lab.files.layout import Home
from trimtab.stacks.qos.stack import STACK, QosStackSettings, from_lab, qos_stack


def stack_of(
    home: Home, name: str, stacks: tuple[str, ...] | None, given: Mapping[str, bool | None]
) -> Stack:
    """The stack as the options say; what is not given stays as it was in this lab."""
    lab = home.lab(name)
    old = lab.read_spec()
    chosen = {option: value for option, value in given.items() if value is not None}
    if chosen and STACK not in (stacks or (old.stacks if old else ())):
        raise ConfigError(f"{_spelled(chosen)} belongs to the queue; add --with {STACK}")
    kept = kept_settings(lab, STACK)
    settings = from_lab(kept) if kept else QosStackSettings()
    wanted = structs.replace(settings, **chosen)
    if wanted != settings:
        refuse_while_running(lab, f"{_spelled(chosen)} cannot be taken")
    return qos_stack(wanted)


def _spelled(options: Mapping[str, bool]) -> str:
    return " and ".join(f"--{option.replace('_', '-')}" for option in options)
