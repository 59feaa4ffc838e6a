"""A plan in one line: what it adds, changes and removes, and which nodes it reboots."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from trimtab.advisor.api import Item
from trimtab.advisor.kinds import MACHINE_CONFIGS
from trimtab.advisor.plan.diff import creates, has_changes
from trimtab.advisor.plan.plan import worst
from trimtab.advisor.plan.pools import effect_of


class PlanSummary(Struct, frozen=True, rename="camel"):
    """`reboots` names the pools whose machines restart."""

    add: int
    change: int
    remove: int
    takes: int
    reboots: tuple[str, ...]
    impact: str

    @property
    def pending(self) -> bool:
        return bool(self.add + self.change + self.remove)

    def __str__(self) -> str:
        if not self.pending:
            return "no changes"
        parts = [f"{self.add} to add, {self.change} to change, {self.remove} to remove"]
        if self.takes:
            owners = "1 field is" if self.takes == 1 else f"{self.takes} fields are"
            parts.append(f"{owners} taken from other managers")
        pools = ", ".join(self.reboots)
        parts.append(f"machines of pool {pools} reboot" if pools else "no reboots")
        return f"{'; '.join(parts)}; impact {self.impact}"


def summarise(items: Sequence[Item]) -> PlanSummary:
    """Of the items that still change something."""
    changing = [item for item in items if has_changes(item.diff)]
    removed = [item for item in changing if removes(item)]
    added = [item for item in changing if creates(item.diff)]
    return PlanSummary(
        add=len(added),
        change=len(changing) - len(added) - len(removed),
        remove=len(removed),
        takes=sum(len(item.takes) for item in changing),
        reboots=tuple(dict.fromkeys(_rebooted(changing))),
        impact=worst(changing),
    )


def removes(item: Item) -> bool:
    return item.diff.partition("\n")[2].startswith("+++ /dev/null")


def _rebooted(items: Iterable[Item]) -> Iterable[str]:
    for item in items:
        if item.target_ref.kind == MACHINE_CONFIGS.kind and item.impact_severity == "High":
            effect = effect_of(item.desired_state or {"kind": MACHINE_CONFIGS.kind})
            yield effect.name if effect else "worker"
