"""Changes of numbers in a policy: thresholds, limits, numbers of nodes, selections."""

from collections.abc import Callable, Iterator
from typing import Literal

from msgspec.structs import replace

from trimtab.policy.file.settings import HighNodeUtilization, LowNodeUtilization, Plugin, Policy
from trimtab.truth.explain.changes.change import Tree, UntriedChange, args_of, in_policy
from trimtab.truth.explain.changes.trial import Trial

_LIMITS = (
    ("max_total", "maxNoOfPodsToEvictTotal"),
    ("max_per_node", "maxNoOfPodsToEvictPerNode"),
    ("max_per_namespace", "maxNoOfPodsToEvictPerNamespace"),
)
Side = Literal["low", "high"]


def limit_attempts(trial: Trial) -> Iterator[UntriedChange]:
    """Limits of the whole policy; one more than what is in flight is always enough."""
    for field, name in _LIMITS:
        limit: int | None = getattr(trial.policy, field)
        if limit is None:
            continue
        for value in range(limit + 1, max(limit, trial.inflight.total) + 2):
            if trial.with_policy(replace(trial.policy, **{field: value})).evictions():
                what = f"raise {name} from {limit} to {value}"
                edit = _setting(name, value)
                yield in_policy(trial.snapshot, what, edit, value - limit)
                break
    if trial.policy.node_selector.requirements:
        what = f"select all nodes instead of {trial.policy.node_selector.text}"
        yield in_policy(trial.snapshot, what, lambda tree: _drop(tree, "nodeSelector"))


def plugin_attempts(trial: Trial) -> Iterator[UntriedChange]:
    """Arguments of each plugin of each profile."""
    for at, profile in enumerate(trial.policy.profiles):
        for name, plugin in profile.plugins:
            if isinstance(plugin, LowNodeUtilization):
                yield from _thresholds(trial, at, name, plugin, "high")
            yield from _thresholds(trial, at, name, plugin, "low")
            yield from _others(trial, at, name, plugin)


def _thresholds(
    trial: Trial, at: int, name: str, plugin: Plugin, side: Side
) -> Iterator[UntriedChange]:
    field = "thresholds" if side == "low" else "targetThresholds"
    for resource, current in getattr(plugin, side).items():
        lowest, highest = _bounds(plugin, resource, side)

        def works(value: float, resource: str = resource) -> bool:
            moved = {**getattr(plugin, side), resource: value}
            policy = with_plugin(trial.policy, at, name, replace(plugin, **{side: moved}))
            return trial.with_policy(policy).evictions() > 0

        value = nearest(current, lowest, highest, works)
        if value is None:
            continue
        verb = "lower" if value < current else "raise"
        what = f"{verb} {field}.{resource} from {current:g} to {value:g}"

        def edit(tree: Tree, resource: str = resource, value: float = value) -> None:
            args_of(tree, at, name)[field][resource] = value

        yield in_policy(trial.snapshot, what, edit, round(abs(value - current), 4))


def _bounds(plugin: Plugin, resource: str, side: Side) -> tuple[float, float]:
    """What the descheduler accepts: levels must not cross."""
    if isinstance(plugin, HighNodeUtilization) or plugin.deviation:
        return 0.0, 100.0
    return (0.0, plugin.high[resource]) if side == "low" else (plugin.low[resource], 100.0)


def nearest(
    current: float, lowest: float, highest: float, works: Callable[[float], bool]
) -> float | None:
    """The value nearest to `current` that works, to a tenth, or None within the bounds."""
    for step in range(1, 102):
        for sign in (-1, 1):
            far, near = current + sign * step, current + sign * (step - 1)
            inside = min(max(far, lowest), highest)
            if abs(inside - near) < 1e-9 or (inside - near) * sign < 0 or not works(inside):
                continue
            return _to_a_tenth(near, inside, works)
    return None


def _to_a_tenth(near: float, far: float, works: Callable[[float], bool]) -> float:
    """Between a value that does not work and one that does; `far` itself if nothing nearer does."""
    sign = 1 if far > near else -1
    steps = [round(near + sign * tenth / 10, 1) for tenth in range(1, 10)]
    between = [value for value in steps if (value - near) * sign > 0 and (far - value) * sign > 0]
    return next((value for value in between if works(value)), far)


def _others(trial: Trial, at: int, name: str, plugin: Plugin) -> Iterator[UntriedChange]:
    snapshot = trial.snapshot
    for wanted in range(plugin.number_of_nodes - 1, -1, -1):
        fewer = with_plugin(trial.policy, at, name, replace(plugin, number_of_nodes=wanted))
        if trial.with_policy(fewer).evictions():
            what = f"lower numberOfNodes from {plugin.number_of_nodes} to {wanted}"
            edit = _argument(at, name, "numberOfNodes", wanted)
            yield in_policy(snapshot, what, edit, plugin.number_of_nodes - wanted)
            break
    for namespace in sorted(plugin.excluded):
        what = f"take {namespace} out of evictableNamespaces.exclude"
        yield in_policy(snapshot, what, _included(at, name, namespace))
    if isinstance(plugin, LowNodeUtilization):
        yield from _node_limit(trial, at, name, plugin)
    elif plugin.only_thresholding_resources:
        edit = _argument(at, name, "evictionModes", [])
        yield in_policy(snapshot, "drop evictionModes OnlyThresholdingResources", edit)


def _node_limit(
    trial: Trial, at: int, name: str, plugin: LowNodeUtilization
) -> Iterator[UntriedChange]:
    """The plugin's own limit; unset it means one pod, which an eviction in flight may take (E8)."""
    current = plugin.node_limit
    for value in range((current or 0) + 1, (current or 0) + trial.inflight.total + 3):
        policy = with_plugin(trial.policy, at, name, replace(plugin, node_limit=value))
        if trial.with_policy(policy).evictions():
            verb = "set" if current is None else f"raise from {current}"
            what = f"evictionLimits.node: {verb} to {value}"
            edit = _argument(at, name, "evictionLimits", {"node": value})
            yield in_policy(trial.snapshot, what, edit, value - (current or 0))
            return


def with_plugin(policy: Policy, at: int, name: str, plugin: Plugin) -> Policy:
    """The policy with another plugin of that name in that profile."""
    profile = policy.profiles[at]
    plugins = tuple((n, plugin if n == name else old) for n, old in profile.plugins)
    profiles = list(policy.profiles)
    profiles[at] = replace(profile, plugins=plugins)
    return replace(policy, profiles=tuple(profiles))


def _setting(name: str, value: int) -> Callable[[Tree], None]:
    def edit(tree: Tree) -> None:
        tree[name] = value

    return edit


def _argument(at: int, plugin: str, name: str, value: object) -> Callable[[Tree], None]:
    def edit(tree: Tree) -> None:
        args_of(tree, at, plugin)[name] = value

    return edit


def _included(at: int, plugin: str, namespace: str) -> Callable[[Tree], None]:
    def edit(tree: Tree) -> None:
        excluded = args_of(tree, at, plugin)["evictableNamespaces"]["exclude"]
        excluded[:] = [each for each in excluded if each != namespace]

    return edit


def _drop(tree: Tree, name: str) -> None:
    tree.pop(name, None)
