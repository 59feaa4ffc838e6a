"""Changes of the query and of single samples, for policies that ask Prometheus."""

import math
from collections.abc import Iterator

from msgspec.structs import replace

from trimtab.model.snapshot import QueryResult, Sample, Snapshot
from trimtab.policy.file.settings import LowNodeUtilization, UsageSource
from trimtab.truth.explain.changes.change import (
    SnapshotChange,
    Tree,
    UntriedChange,
    args_of,
    edited,
    single_change,
)
from trimtab.truth.explain.changes.trial import Trial

_TRIED = 3
"""How many of the highest and of the lowest nodes are moved."""


def query_attempts(trial: Trial) -> Iterator[UntriedChange]:
    """Other forms of the same query, for answers that the descheduler stumbles over."""
    query = _vector(trial)
    if query is None:
        return
    yield from _named(trial.snapshot, query)
    if any(not 0 <= float(s.value) <= 1 for s in query.samples):
        clamped = [Sample(s.labels, repr(min(max(float(s.value), 0), 1))) for s in query.samples]
        yield _requery(trial.snapshot, query, "clamp({}, 0, 1)", tuple(clamped))


def _named(snapshot: Snapshot, query: QueryResult) -> Iterator[UntriedChange]:
    """`instance` from another label, or without what follows the node's name."""
    nodes = {node.name for node in snapshot.nodes}
    for label in dict.fromkeys(key for s in query.samples for key in s.labels):
        if label != "instance" and any(s.labels.get(label) in nodes for s in query.samples):
            form = 'label_replace({}, "instance", "$1", "' + label + '", "(.+)")'
            samples = tuple(_with(s, s.labels.get(label, "")) for s in query.samples)
            yield _requery(snapshot, query, form, samples)
    short = [s.labels.get("instance", "").partition(":")[0] for s in query.samples]
    if any(":" in s.labels.get("instance", "") for s in query.samples) and nodes & set(short):
        form = 'label_replace({}, "instance", "$1", "instance", "([^:]+):.*")'
        samples = tuple(_with(s, name) for s, name in zip(query.samples, short, strict=True))
        yield _requery(snapshot, query, form, samples)
    if any("instance" not in s.labels for s in query.samples):
        kept = tuple(s for s in query.samples if "instance" in s.labels)
        # vector(0) has no labels at all, so on (instance) it equals just the unnamed samples
        yield _requery(snapshot, query, "({}) unless on (instance) vector(0)", kept)


def _with(sample: Sample, instance: str) -> Sample:
    return Sample({**sample.labels, "instance": instance}, sample.value) if instance else sample


def _requery(
    snapshot: Snapshot, query: QueryResult, form: str, samples: tuple[Sample, ...]
) -> UntriedChange:
    new = form.replace("{}", query.query or "QUERY")
    asked = replace(query, query=new, samples=samples)

    def edit(tree: Tree) -> None:
        for at, profile in enumerate(tree.get("profiles") or ()):
            for config in profile.get("pluginConfig") or ():
                if config.get("name") == "LowNodeUtilization":
                    metrics = args_of(tree, at, "LowNodeUtilization").get("metricsUtilization")
                    if metrics and metrics.get("prometheus"):
                        metrics["prometheus"]["query"] = new

    changed = edited(replace(snapshot, query=asked), edit)
    return single_change("query", f"ask {new} instead", changed)


def sample_attempts(trial: Trial) -> Iterator[UntriedChange]:
    """One sample more, mended or moved."""
    query = _vector(trial)
    if query is None:
        return
    yield from _missing(trial, query)
    yield from _not_numbers(trial, query)
    known = _percents(trial, query)
    ranked = sorted(known, key=lambda name: -known[name])
    tried = dict.fromkeys((*ranked[:_TRIED], *ranked[-_TRIED:]))
    nearest: UntriedChange | None = None
    for name in tried:
        below = 101 if nearest is None else int(nearest.change.size)
        nearest = next(_moved(trial, query, name, known[name], below), nearest)
    if nearest is not None:
        yield nearest


def _vector(trial: Trial) -> QueryResult | None:
    plugins = [plugin for profile in trial.policy.profiles for _, plugin in profile.plugins]
    asks = any(
        isinstance(p, LowNodeUtilization) and p.source is UsageSource.PROMETHEUS for p in plugins
    )
    query = trial.snapshot.query
    usable = query is not None and not query.error and query.result_type == "vector"
    return query if asks and usable else None


def _percents(trial: Trial, query: QueryResult) -> dict[str, int]:
    """The selected nodes that have a usable sample; the last sample counts."""
    last = {s.labels.get("instance"): float(s.value) for s in query.samples}
    names = trial.view.selected(trial.policy.node_selector).names
    return {n: int(last[n] * 100) for n in names if n in last and 0 <= last[n] <= 1}


def _missing(trial: Trial, query: QueryResult) -> Iterator[UntriedChange]:
    there = {sample.labels.get("instance") for sample in query.samples}
    names = trial.view.selected(trial.policy.node_selector).names
    missing = [name for name in names if name not in there]
    if len(missing) != 1:
        return
    (name,) = missing
    for value in _plausible(query):
        sample = Sample({"instance": name}, value)
        changed = replace(query, samples=(*query.samples, sample))
        if trial.with_query(changed).evictions():
            what = f"give {name} a sample ({value} was tried)"
            yield single_change("sample", what, replace(trial.snapshot, query=changed))
            return


def _plausible(query: QueryResult) -> tuple[str, ...]:
    """The mean of the others first: the change that says least about the node."""
    values = [float(s.value) for s in query.samples]
    good = [v for v in values if 0 <= v <= 1]
    mean = round(sum(good) / len(good), 4) if good else 0.5
    return repr(mean), "0.0", "0.995"


def _not_numbers(trial: Trial, query: QueryResult) -> Iterator[UntriedChange]:
    broken = [at for at, s in enumerate(query.samples) if math.isnan(float(s.value))]
    if len(broken) != 1:
        return
    for value in _plausible(query):
        changed = _replaced(query, broken[0], value)
        if trial.with_query(changed).evictions():
            name = query.samples[broken[0]].labels.get("instance", "?")
            what = f"make {name}'s sample a number instead of NaN ({value} was tried)"
            yield single_change("sample", what, replace(trial.snapshot, query=changed))
            return


def _moved(
    trial: Trial, query: QueryResult, name: str, now: int, below: int
) -> Iterator[UntriedChange]:
    """The nearest whole percent, less than `below` away, at which the node's sample evicts."""
    at = max(i for i, s in enumerate(query.samples) if s.labels.get("instance") == name)
    for distance in range(1, below):
        for percent in (now + distance, now - distance):
            if not 0 <= percent <= 100:
                continue
            value = repr(1.0 if percent == 100 else round(percent / 100 + 0.005, 4))
            changed = _replaced(query, at, value)
            if trial.with_query(changed).evictions():
                before = f"{float(query.samples[at].value):.4g}"
                what = f"move {name}'s sample from {before} to {value}"
                snapshot = replace(trial.snapshot, query=changed)
                yield UntriedChange(SnapshotChange("sample", what, float(distance)), snapshot)
                return


def _replaced(query: QueryResult, at: int, value: str) -> QueryResult:
    samples = list(query.samples)
    samples[at] = Sample(samples[at].labels, value)
    return replace(query, samples=tuple(samples))
