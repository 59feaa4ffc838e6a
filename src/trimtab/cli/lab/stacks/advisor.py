"""`trimtab lab up --with advisor`: from options to the stack."""

from msgspec import structs

from trimtab.advisor.mocks.kube_descheduler import Release
from trimtab.cli.lab.context import kept_settings, refuse_while_running
from trimtab.errors import ConfigError
from trimtab.lab.components.stack import Stack
from trimtab.lab.files.layout import Home
from trimtab.stacks.advisor.stack import STACK, AdvisorStackSettings, advisor_stack, from_lab


def stack_for(
    home: Home,
    name: str,
    names: tuple[str, ...] | None,
    release: Release | None,
    operator: bool | None,
) -> Stack:
    """The stack of a lab; what is not given stays as it was, or takes its default."""
    lab = home.lab(name)
    if STACK not in (names or ()):
        if release is not None or operator is not None:
            option = "--ocp" if release is not None else "--operator"
            raise ConfigError(f"{option} belongs to the advisor; add --with {STACK}")
        return advisor_stack(AdvisorStackSettings())
    kept = kept_settings(lab, STACK)
    before = from_lab(kept) if kept else AdvisorStackSettings()
    after = structs.replace(
        before,
        release=before.release if release is None else release,
        operator=before.operator if operator is None else operator,
    )
    if after != before:
        refuse_while_running(lab, "its release cannot change")
    return advisor_stack(after)
