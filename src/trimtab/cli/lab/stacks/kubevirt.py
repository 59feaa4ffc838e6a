"""`trimtab lab up --with kubevirt`: from options to the stack, and the engines it needs."""

import os
from collections.abc import Sequence

from msgspec import structs

from trimtab.cli.lab.context import kept_settings, refuse_while_running
from trimtab.cli.lab.stacks.loop import Chosen
from trimtab.cli.setup.build_display import BuildDisplay
from trimtab.engines import cache_dir
from trimtab.engines import chosen as chosen_programs
from trimtab.engines.build import build
from trimtab.engines.cache import find
from trimtab.errors import ConfigError
from trimtab.lab.components.stack import Stack
from trimtab.lab.files.layout import Home
from trimtab.lab.spec import LabSpec
from trimtab.stacks.kubevirt.settings import (
    STACK,
    KubevirtSettings,
    check_cpu_model,
    from_lab,
)
from trimtab.stacks.kubevirt.stack import kubevirt_stack
from trimtab.stacks.loop.settings import STACK as LOOP
from trimtab.stacks.loop.settings import LoopSettings
from trimtab.stacks.loop.settings import from_lab as loop_from_lab
from trimtab.view.terminal import err, progress


def stack_for(home: Home, name: str, chosen: Chosen, cpu_models: Sequence[str] | None) -> Stack:
    """The stack of a lab; what is not given stays as it was, or takes its default.

    With a loop, its scenario says how fast memory is copied and how many migrations may run.
    """
    lab = home.lab(name)
    old, names = lab.read_spec(), chosen.names or ()
    if names:
        refuse_both_worlds(old, names)
    if STACK not in names:
        if cpu_models:
            raise ConfigError(f"--cpu-model belongs to KubeVirt; add --with {STACK}")
        return kubevirt_stack(KubevirtSettings())
    kept = kept_settings(lab, STACK)
    before = from_lab(kept) if kept else KubevirtSettings()
    after = _with_models(before, cpu_models)
    if LOOP in names:
        after = _following(after, loop_from_lab(dict(chosen.stacks[LOOP].settings)))
    if after != before and kept:
        refuse_while_running(lab, "KubeVirt's settings cannot change")
    return kubevirt_stack(after)


def refuse_both_worlds(old: LabSpec | None, names: tuple[str, ...]) -> None:
    """A lab has KubeVirt's VMs or trimtab's own; its data know which, also when it is stopped."""
    if old is None or LOOP not in (*old.stacks, *names):
        return
    if (STACK in old.stacks) == (STACK in names):
        return
    here = "KubeVirt's VMs" if STACK in old.stacks else "trimtab's own VMs"
    if STACK not in old.stacks and LOOP not in old.stacks:
        return  # a lab without VMs may become either
    raise ConfigError(
        f"lab {old.name} has {here}, and a cluster cannot have both kinds; make another lab: "
        f"trimtab lab up --name NAME {' '.join(f'--with {each}' for each in names)}"
    )


def build_what_is_missing(names: Sequence[str] | None) -> None:
    """Compile KubeVirt's programs if a lab first asks for them."""
    cache = cache_dir(os.environ)
    if STACK not in (names or ()):
        return
    wanted = chosen_programs((STACK,))
    if all(find(each.name, cache) for each in wanted):
        return
    err.print("compiling KubeVirt's control plane, about 4 minutes, only this once", markup=False)
    with progress("engines", len(wanted)) as steps:
        display = BuildDisplay(steps, detailed=err.is_terminal)
        build((STACK,), cache=cache, environment=os.environ, report=display)


def _with_models(settings: KubevirtSettings, models: Sequence[str] | None) -> KubevirtSettings:
    if not models:
        return settings
    checked = tuple(check_cpu_model(model) for model in models)
    return structs.replace(settings, cpu_models=tuple(dict.fromkeys(checked)))


def _following(settings: KubevirtSettings, loop: LoopSettings) -> KubevirtSettings:
    return structs.replace(
        settings,
        bandwidth=loop.bandwidth,
        dirty_rate=loop.dirty_rate,
        parallel=loop.parallel,
        parallel_per_node=loop.parallel_per_node,
    )
