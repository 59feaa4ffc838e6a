"""The way back: what every managed field was before us, and whose it was.

The record lives in a Secret that survives the VirtPlatformConfig: deleting that must not
delete the memory of how the cluster was. A field's first value counts, however often a plan
is applied. Fields are put back in their former owner's name, then our name is taken off; an
empty apply in place of both would delete the fields instead.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from msgspec import Struct, structs

from trimtab.advisor.api import MANAGER, Item, Taking, TargetRef, Verb
from trimtab.advisor.plan.diff import object_diff
from trimtab.advisor.plan.fields import (
    Path,
    is_ours,
    leaves,
    lookup,
    manager_entries,
    merge_patch,
    others_of,
    parse_path,
)
from trimtab.kube.resources import Free

Live = Mapping[TargetRef, Free | None]


class PriorField(Struct, frozen=True):
    """A managed field before our first apply; `owners` by the path of each value in it."""

    path: str
    present: bool
    value: Any = None
    owners: dict[str, str] = {}
    depth: int | None = None
    """How many steps of the path were there, if not all: the maps below came with us."""


class Prior(Struct, frozen=True):
    """An object before our first apply, and what we applied (the effect to undo)."""

    item: str
    ref: TargetRef
    existed: bool
    desired: Free
    fields: tuple[PriorField, ...] = ()
    applied: bool = False
    """Whether a plan with it was completed: until then, what is not ours is still prior."""


class RollbackRecord(Struct, frozen=True):
    priors: tuple[Prior, ...] = ()

    def of(self, ref: TargetRef) -> Prior | None:
        return next((prior for prior in self.priors if prior.ref == ref), None)


def remembered(record: RollbackRecord, items: Iterable[Item], live: Live) -> RollbackRecord:
    """The record with what these items are about to change; what it knows already stays."""
    priors = {prior.ref: prior for prior in record.priors}
    for item in items:
        if item.verb == "apply" and item.desired_state is not None:
            before = priors.get(item.target_ref)
            priors[item.target_ref] = _extended(before, item, live.get(item.target_ref))
    return RollbackRecord(tuple(priors.values()))


def _extended(before: Prior | None, item: Item, live: Free | None) -> Prior:
    if before is None or _is_outdated(before, live):
        existed = live is not None
        before = Prior(item.name, item.target_ref, existed, item.desired_state or {})
    known = {field.path for field in before.fields}
    paths = item.managed_fields or ("spec",)
    new = tuple(_prior_field(live, path) for path in paths if path not in known)
    return structs.replace(before, desired=item.desired_state, fields=before.fields + new)


def _is_outdated(before: Prior, live: Free | None) -> bool:
    """Whether it was noted for an apply that never came about."""
    return not before.applied and live is not None and not is_ours(live)


def confirmed(record: RollbackRecord, refs: Iterable[TargetRef]) -> RollbackRecord:
    """The record with these as applied, no matter who writes to them from now on."""
    done = set(refs)
    return RollbackRecord(
        tuple(structs.replace(p, applied=True) if p.ref in done else p for p in record.priors)
    )


def _prior_field(live: Free | None, dotted: str) -> PriorField:
    root = parse_path(dotted)
    present, value = lookup(live, root)
    owners = {
        ".".join((*root, *leaf)): managers[0]
        for leaf in leaves(value)
        if (managers := others_of(live, (*root, *leaf)))
    }
    if present:
        return PriorField(dotted, present, value, owners)
    steps = range(len(root))
    return PriorField(dotted, present, depth=sum(lookup(live, root[: n + 1])[0] for n in steps))


def forgotten(record: RollbackRecord, refs: Iterable[TargetRef]) -> RollbackRecord:
    gone = set(refs)
    return RollbackRecord(tuple(prior for prior in record.priors if prior.ref not in gone))


def leaving(
    record: RollbackRecord, desired_targets: Iterable[TargetRef], live: Live
) -> tuple[Item, ...]:
    """Items for what we once applied and the profile no longer wants; last come first."""
    kept = set(desired_targets)
    going = [prior for prior in reversed(record.priors) if prior.ref not in kept]
    return tuple(reverse_item(prior, live.get(prior.ref)) for prior in going)


def reverse_item(prior: Prior, live: Free | None) -> Item:
    """What takes one object back: deleted if we made it, else its fields put back."""
    after = put_back(prior, live) if prior.existed and live is not None else None
    verb: Verb = "restore" if prior.existed else "delete"
    reboots = prior.ref.kind == "MachineConfig"
    takes = undone(prior, live)
    return Item(
        name=f"{verb}-{prior.item}",
        target_ref=prior.ref,
        verb=verb,
        impact_severity="High" if reboots else "Medium",
        impact="The nodes of its pools restart" if reboots else _says(prior),
        diff=object_diff(prior.ref, live, after),
        desired_state=prior.desired,
        message=f"{prior.ref.kind} '{prior.ref.name}' will be {_done(prior)}",
        managed_fields=tuple(field.path for field in prior.fields),
        takes=takes,
        warnings=tuple(_warnings(takes)),
    )


def undone(prior: Prior, live: Free | None) -> tuple[Taking, ...]:
    """Fields that others wrote after us, and that going back overwrites or deletes."""
    if live is None:
        return ()
    after = put_back(prior, live) if prior.existed else {}
    found = {
        Taking(field=".".join(path), manager=manager)
        for path in leaves({key: value for key, value in live.items() if key not in _NO_WORK})
        if lookup(after, path) != lookup(live, path)
        for manager in others_of(live, path)
    }
    return tuple(sorted(found, key=lambda take: (take.field, take.manager)))[:MOST_TAKES]


MOST_TAKES = 256
_NO_WORK = ("apiVersion", "kind", "metadata", "status")
"""Not somebody's settings."""


def _warnings(takes: Iterable[Taking]) -> Iterator[str]:
    later: dict[str, list[str]] = {}
    for take in takes:
        later.setdefault(take.manager, []).append(take.field)
    for manager, fields in later.items():
        yield f"undoes what {manager} wrote later: {', '.join(fields)}"[:1024]


def _says(prior: Prior) -> str:
    return "Puts back the values from before" if prior.existed else "Deletes what we created"


def _done(prior: Prior) -> str:
    return "given back as it was" if prior.existed else "deleted: it did not exist before"


def put_back(prior: Prior, live: Free) -> Free:
    """The live object with the managed fields as they were."""
    wanted = deepcopy(live)
    for field in prior.fields:
        _set(wanted, parse_path(field.path), field)
    return wanted


def _set(obj: Free, path: Path, field: PriorField) -> None:
    parents = [obj]
    for part in path[:-1]:
        at = parents[-1]
        if not isinstance(at.get(part), dict):
            if not field.present:
                return
            at[part] = {}
        parents.append(at[part])
    if field.present:
        parents[-1][path[-1]] = deepcopy(field.value)
    else:
        _remove(parents, path, field)


def _remove(parents: list[Free], path: Path, field: PriorField) -> None:
    """The value, and the maps around it that were not there before, unless others use them."""
    parents[-1].pop(path[-1], None)
    known = len(path) if field.depth is None else field.depth
    for step in range(len(path) - 2, known - 1, -1):
        if parents[step + 1]:
            return
        del parents[step][path[step]]


def restoring(prior: Prior, live: Free) -> dict[str, Free]:
    """The merge patches that put the fields back, by the manager in whose name."""
    owners = {path: manager for field in prior.fields for path, manager in field.owners.items()}
    patches: dict[str, Free] = {}
    whole = merge_patch(live, put_back(prior, live))
    for leaf in leaves(whole):
        if leaf:
            manager = owners.get(".".join(leaf), MANAGER)
            _graft(patches.setdefault(manager, {}), leaf, lookup(whole, leaf)[1])
    return patches


def _graft(tree: Free, path: Path, value: Any) -> None:
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
    tree[path[-1]] = value


def releasing(live: Free) -> list[Free] | None:
    """The object's managedFields without us; None if we are not in them.

    `[{}]` is how the API server is told to empty the list: an empty one it would ignore.
    """
    entries = manager_entries(live)
    rest = [e for e in entries if e.get("manager") != MANAGER or e.get("subresource")]
    if len(rest) == len(entries):
        return None
    return rest or [{}]


def is_taken_back(item: Item, record: RollbackRecord, live: Free | None) -> bool:
    """Whether nothing of ours is left to undo on this object."""
    prior = record.of(item.target_ref)
    if item.verb == "delete" or live is None or prior is None:
        return live is None or prior is None
    return not restoring(prior, live) and releasing(live) is None
