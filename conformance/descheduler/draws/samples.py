"""Answers of the stub Prometheus: usual ones, those on the edge of a bit, and broken ones."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from random import Random

from conformance.descheduler.draws.policies import QUERY, Theme
from trimtab.model.snapshot import QueryResult, Sample, SnapshotNode

GOLDEN: Mapping[tuple[float, float], Sequence[tuple[int, ...]]] = {
    (0, 10): ((28, 55, 24, 5), (56, 56, 84, 28), (28, 55, 24, 5), (57, 29, 29, 1, 29)),
    (0, 0): ((10, 10, 10, 11), (20, 20, 20, 20, 21), (40, 41, 40, 40)),
    (10, 10): ((28, 18, 18, 18, 8), (30, 20, 20, 20, 10), *[(28, 18, 18, 18, 8)] * 2),
}
"""By distance from the mean: percents where the last bit decides (T1, T5, C2, C3, E1, E6)."""
_EDGES = (0.29, 0.57, 0.58, 0.28, 0.07, 0.14, 0.55, 0.56, 0.1, 0.2, 0.3, 0.199, 0.28999)
_BROKEN = ("-0.1", "1.01", "-1e-9", "1.0000001")


def query_for(
    random: Random,
    theme: Theme,
    kind: str,
    nodes: Sequence[SnapshotNode],
    hot: Sequence[str],
    golden: Sequence[int],
) -> QueryResult:
    """The answer of one step."""
    pool = [node.name for node in nodes if node.labels.get("pool") == "main"]
    values = _values(random, theme, kind, pool, hot, golden)
    samples = [_sample(name, value) for name, value in values.items()]
    if random.random() < 0.4:
        others = [node.name for node in nodes if node.name not in values]
        samples += [_sample(name, "0.5") for name in (*others, "elsewhere:9100")]
    if kind == "normal" and pool and random.random() < 0.3:
        # the last one counts
        samples.insert(0, _sample(random.choice(pool), "0.03"))
    random.shuffle(samples) if kind == "P3" else None
    return _spoilt(random, kind, samples, pool)


def _values(
    r: Random,
    theme: Theme,
    kind: str,
    pool: Sequence[str],
    hot: Sequence[str],
    golden: Sequence[int],
) -> dict[str, str]:
    if golden:
        return {n: repr(p / 100 + 0.003) for n, p in zip(pool, golden, strict=True)}
    if kind == "all under":
        return dict.fromkeys(pool, "0.004")
    if kind == "none over":
        return _none_over(r, theme, pool)
    return {name: repr(_hot(r) if name in hot else _cool(r)) for name in pool}


def _hot(r: Random) -> float:
    return r.choice(
        [1.0, r.choice([0.58, 0.84, 0.7]), round(r.uniform(0.6, 1), r.choice([2, 3, 6]))]
    )


def _cool(r: Random) -> float:
    return r.choice([r.choice(_EDGES), round(r.uniform(0, 0.3), r.choice([2, 3, 9])), 0.0])


def _none_over(r: Random, theme: Theme, pool: Sequence[str]) -> dict[str, str]:
    """With levels nobody reaches the target; around the mean it is out of reach (C5)."""
    if theme.static:
        return {name: repr(r.choice([0.05, 0.1, 0.01, 0.2])) for name in pool}
    low = set(r.sample(list(pool), 1))
    return {name: "0.7" if name in low else repr(r.choice([0.99, 1.0])) for name in pool}


def _spoilt(r: Random, kind: str, samples: list[Sample], pool: Sequence[str]) -> QueryResult:
    now = datetime.now(UTC)
    match kind:
        case "P2":
            how = r.choice(["scalar", "matrix", "string", "error"])
            if how == "error":
                return QueryResult(now, QUERY, error="expanding series: too many")
            return QueryResult(now, QUERY, how)
        case "P3":
            samples.insert(r.randrange(len(samples)), Sample({"node": "x"}, "0.5"))
        case "P4":
            name = r.choice([*pool, "elsewhere"])
            samples.insert(r.randrange(len(samples) + 1), _sample(name, r.choice(_BROKEN)))
        case "P9":
            samples.append(_sample(r.choice(list(pool)), r.choice(["+Inf", "-Inf"])))
        case "P7":
            missing = r.choice(list(pool))
            samples = [s for s in samples if s.labels["instance"] != missing]
        case "P8":
            for name in r.sample(list(pool), min(len(pool), r.choice([1, 2, 3]))):
                samples.append(_sample(name, "NaN"))
    return QueryResult(now, QUERY, samples=tuple(samples))


def _sample(instance: str, value: str) -> Sample:
    return Sample({"instance": instance, "job": "stub"}, value)
