"""`trimtab lab up --with balancer`: from its option to the stack."""

from msgspec import structs

from trimtab.balancer.wire import Mode
from trimtab.cli.lab.context import kept_settings, refuse_while_running
from trimtab.cli.lab.stacks.loop import Chosen
from trimtab.errors import ConfigError
from trimtab.lab.components.stack import Stack
from trimtab.lab.files.layout import Home
from trimtab.stacks.balancer.stack import STACK, BalancerStackSettings, balancer_stack, from_lab
from trimtab.stacks.loop.settings import STACK as LOOP
from trimtab.stacks.loop.settings import from_lab as loop_from_lab


def acts(home: Home, name: str, with_: list[str] | None, mode: Mode | None) -> bool | None:
    """Whether the balancer of this lab will act; None where a lab has none."""
    old = home.lab(name).read_spec()
    if STACK not in (with_ or (old.stacks if old else ())):
        return None
    kept = old.settings.get(STACK) if old else None
    return (mode or (from_lab(kept).mode if kept else "observe")) == "act"


def stack_for(home: Home, name: str, chosen: Chosen, mode: Mode | None) -> Stack:
    """The stack of a lab; what is not given stays as it was in this lab."""
    lab, names = home.lab(name), chosen.names or ()
    if STACK not in names:
        if mode is not None:
            raise ConfigError(f"--balancer belongs to the balancer; add --with {STACK}")
        return balancer_stack(BalancerStackSettings())
    if LOOP not in names:
        raise ConfigError(f"the balancer needs VMs and metrics; add --with {LOOP}")
    kept = kept_settings(lab, STACK)
    before = from_lab(kept) if kept else BalancerStackSettings()
    loop = loop_from_lab(dict(chosen.stacks[LOOP].settings))
    after = structs.replace(before, mode=mode or before.mode, parallel=loop.parallel)
    if kept and after != before:
        refuse_while_running(lab, "--balancer cannot be taken")
    return balancer_stack(after)
