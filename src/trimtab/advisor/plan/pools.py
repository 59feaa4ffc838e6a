"""Whether a MachineConfig is in effect: in the rendered config, and on every node of its pools.

"Updated" alone says nothing right after an apply: it is still about the config before. So the
question is asked of the effect: does the config that the pool's nodes run name ours among its
sources, and does it end up with our kernel arguments? Every pool whose selector takes the
config counts: custom pools take what is meant for workers.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from trimtab.advisor.api import TargetRef
from trimtab.advisor.kinds import MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, ROLE
from trimtab.advisor.plan.profile import ClusterFacts, dig
from trimtab.kube.resources import Free

DEFAULT_POOL = "worker"
State = Literal["ready", "waiting", "blocked", "failed"]
_WORST: tuple[State, ...] = ("failed", "blocked", "waiting", "ready")


class PoolHealth(Struct, frozen=True):
    """`blocked` waits for a person (a paused pool), `failed` will not heal by waiting."""

    state: State
    message: str

    @property
    def healthy(self) -> bool:
        return self.state == "ready"


class Pool(Struct, frozen=True):
    """Effect to wait for: this MachineConfig is in the pool's rendered config, and every node
    of the pool runs that config. `health` judges it, other pools that take the config included."""

    name: str
    kernel_arguments: tuple[str, ...] = ()


def effect_of(desired: Free) -> Pool | None:
    """What to wait for after applying `desired`; only a MachineConfig needs waiting."""
    if desired.get("kind") != MACHINE_CONFIGS.kind:
        return None
    role = _labels(desired).get(ROLE) or DEFAULT_POOL
    return Pool(role, tuple(dig(desired, "spec", "kernelArguments") or ()))


def reads(facts: ClusterFacts) -> tuple[TargetRef, ...]:
    """The rendered configs that `health` looks into, given the pools in `facts.lists`."""
    names = [dig(pool, "status", "configuration", "name") for pool in _pools(facts)]
    return tuple(MACHINE_CONFIGS.ref(name) for name in dict.fromkeys(names) if name)


def health(desired: Free, facts: ClusterFacts) -> PoolHealth:
    """The worst of all pools that take the MachineConfig `desired`."""
    effect = effect_of(desired)
    if effect is None:
        return PoolHealth("ready", "applied")
    pools = taken_by(desired, _pools(facts))
    if not pools:
        return PoolHealth(
            "waiting", f"Waiting for MachineConfigPool '{effect.name}': it is missing"
        )
    verdicts = [_judge(desired, effect, pool, facts) for pool in pools]
    worst = min(verdicts, key=lambda verdict: _WORST.index(verdict.state))
    if worst.state != "ready":
        return worst
    return PoolHealth("ready", "; ".join(verdict.message for verdict in verdicts))


def gone(name: str, facts: ClusterFacts) -> PoolHealth:
    """Whether a deleted MachineConfig has left every pool's nodes."""
    holding = [p for p in _pools(facts) if name in (*_sources(p, "spec"), *_sources(p, "status"))]
    verdicts = [_leaving(name, pool) for pool in holding]
    if not verdicts:
        return PoolHealth("ready", f"no pool runs '{name}' any more")
    return min(verdicts, key=lambda verdict: _WORST.index(verdict.state))


def _leaving(name: str, pool: Free) -> PoolHealth:
    """A pool at rest that still names the config has not noticed the deletion yet."""
    progress = _progress(pool)
    if not progress.healthy:
        return progress
    title = f"MachineConfigPool '{dig(pool, 'metadata', 'name')}'"
    return _paused(pool, title) or PoolHealth(
        "waiting", f"{title} is processing changes: it still runs '{name}'"
    )


def taken_by(desired: Free, pools: Sequence[Free]) -> list[Free]:
    """The pools whose selector matches the config's labels; without a selector, by name."""
    return [pool for pool in pools if taken(pool, desired)]


def taken(pool: Free, config: Free) -> bool:
    """Whether the pool takes the config; one without a role is for workers."""
    role = _labels(config).get(ROLE) or DEFAULT_POOL
    return _takes(pool, role, {ROLE: role} | _labels(config))


def pool_named(name: str, facts: ClusterFacts) -> Free | None:
    return next((p for p in _pools(facts) if dig(p, "metadata", "name") == name), None)


def machines(pool: Free | None) -> int:
    return int(dig(pool or {}, "status", "machineCount") or 0)


def arguments_of(pool: Free | None, facts: ClusterFacts) -> list[str]:
    """The kernel arguments that the pool's nodes run with; none if that cannot be found out."""
    return list(dig(_rendered(pool or {}, facts), "spec", "kernelArguments") or ())


def _judge(desired: Free, effect: Pool, pool: Free, facts: ClusterFacts) -> PoolHealth:
    name = str(dig(desired, "metadata", "name"))
    title = f"MachineConfigPool '{dig(pool, 'metadata', 'name')}'"
    if not pool.get("status"):
        return PoolHealth("waiting", f"Waiting for {title}: it has no status yet")
    trouble = _degraded(pool, title) or _overridden(effect, pool, facts, title)
    if trouble is not None:
        return trouble
    if name not in _sources(pool, "spec") and name not in _sources(pool, "status"):
        return _paused(pool, title) or PoolHealth(
            "waiting", f"{title} is processing changes: '{name}' is not in its rendered config yet"
        )
    progress = _progress(pool)
    if progress.healthy and not _carries(_rendered(pool, facts), desired):
        return _paused(pool, title) or PoolHealth(
            "waiting", f"{title} is processing changes: it runs '{name}' as it was before"
        )
    return progress


def _carries(rendered: Free, desired: Free) -> bool:
    """Whether the rendered config says what ours says: an edited config keeps its name."""
    arguments = dig(rendered, "spec", "kernelArguments") or ()
    wanted = dig(desired, "spec", "kernelArguments") or ()
    return all(is_effective(arguments, argument) for argument in wanted) and all(
        entry in (dig(rendered, "spec", "config", *path) or ())
        for path in (("storage", "files"), ("systemd", "units"))
        for entry in dig(desired, "spec", "config", *path) or ()
    )


def _rendered(pool: Free, facts: ClusterFacts) -> Free:
    """The config that the pool's nodes run, or nothing if it was not found."""
    name = dig(pool, "status", "configuration", "name")
    return (facts.get(MACHINE_CONFIGS.ref(name)) if name else None) or {}


def _progress(pool: Free) -> PoolHealth:
    """How far the pool's nodes are on the way to the config that it wants now."""
    title, status = f"MachineConfigPool '{dig(pool, 'metadata', 'name')}'", pool.get("status", {})
    total, counts = machines(pool), _counts(status)
    wanted = dig(pool, "spec", "configuration", "name")
    there = wanted is None or wanted == dig(status, "configuration", "name")
    if (trouble := _degraded(pool, title)) is not None:
        return trouble
    if there and total == 0:
        return PoolHealth("ready", f"{title} has no machines; the first to join gets the config")
    complete = status.get("updatedMachineCount") == status.get("readyMachineCount") == total
    conditions = _conditions(status)
    if there and complete and conditions.get("Updated") and not conditions.get("Updating"):
        return PoolHealth("ready", f"{title} is ready ({counts})")
    if (paused := _paused(pool, title)) is not None:
        return paused
    if conditions.get("Updating"):
        return PoolHealth("waiting", f"{title} is updating ({counts})")
    if not conditions.get("Updated"):
        return PoolHealth("waiting", f"{title} is processing changes ({counts})")
    return PoolHealth("waiting", f"Waiting for {title} ({counts})")


def _degraded(pool: Free, title: str) -> PoolHealth | None:
    status = pool.get("status", {})
    count = int(status.get("degradedMachineCount") or 0)
    if not count and not _conditions(status).get("Degraded"):
        return None
    reasons = [c.get("message") for c in status.get("conditions") or () if _tells(c)]
    why = f": {reasons[0]}" if reasons else ""
    return PoolHealth("failed", f"{title} is degraded ({count} machines){why}")


def _tells(condition: Free) -> bool:
    kind = str(condition.get("type", ""))
    true = condition.get("status") == "True"
    return kind.endswith("Degraded") and true and bool(condition.get("message"))


def _overridden(effect: Pool, pool: Free, facts: ClusterFacts, title: str) -> PoolHealth | None:
    """Our config is on the nodes, but a later one takes the argument back."""
    wanted = dig(pool, "spec", "configuration", "name")
    running = dig(pool, "status", "configuration", "name")
    if not effect.kernel_arguments or not running or wanted not in (None, running):
        return None
    arguments = dig(_rendered(pool, facts), "spec", "kernelArguments") or ()
    lost = [a for a in effect.kernel_arguments if a in arguments and not is_effective(arguments, a)]
    if not lost:
        return None
    return PoolHealth("failed", f"{title}: a later MachineConfig overrides {', '.join(lost)}")


def _paused(pool: Free, title: str) -> PoolHealth | None:
    if not dig(pool, "spec", "paused"):
        return None
    return PoolHealth("blocked", f"{title} is paused; unpause it to roll out the change")


def _counts(status: Mapping[str, Any]) -> str:
    total = status.get("machineCount") or 0
    updated, ready = (status.get(f"{what}MachineCount") or 0 for what in ("updated", "ready"))
    return f"Updated: {updated}/{total}, Ready: {ready}/{total}"


def _conditions(status: Mapping[str, Any]) -> dict[str, bool]:
    return {str(c.get("type")): c.get("status") == "True" for c in status.get("conditions") or ()}


def _sources(pool: Free, where: str) -> list[str]:
    return [str(s.get("name")) for s in dig(pool, where, "configuration", "source") or ()]


def _takes(pool: Free, role: str, labels: Mapping[str, str]) -> bool:
    selector = dig(pool, "spec", "machineConfigSelector")
    if not selector:
        return bool(dig(pool, "metadata", "name") == role)
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_meets(rule, labels) for rule in selector.get("matchExpressions") or ())


def _meets(rule: Free, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(str(rule.get("key"))), rule.get("values") or ()
    match rule.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case _:
            return value is None


def _pools(facts: ClusterFacts) -> tuple[Free, ...]:
    return facts.all(MACHINE_CONFIG_POOLS)


def _labels(obj: Free) -> dict[str, str]:
    return dig(obj, "metadata", "labels") or {}


# Kernel arguments as a boot loader reads them: of one key, the last occurrence counts.
PSI = "psi=1"


def parse(argument: str) -> tuple[str, str | None]:
    """Key and value; a flag has none. Only the first `=` separates."""
    key, separator, value = argument.partition("=")
    return key, value if separator else None


def is_effective(arguments: Sequence[str], wanted: str) -> bool:
    """True if the last occurrence of the key has the wanted value."""
    key, _ = parse(wanted)
    said = [argument for argument in arguments if parse(argument)[0] == key]
    return bool(said) and said[-1] == wanted
