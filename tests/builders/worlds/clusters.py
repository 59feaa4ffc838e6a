"""Clusters that are hard on a score: ties, zeros, all equal, chains, mirror images, tiny spreads.

Every cluster is (nodes, 4) with rows in name order, from a seed: a failure names its cluster.
"""

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from trimtab.scores.arrays.window import Floats

Family = Callable[[np.random.Generator, int], Floats]


class Cluster(Struct, frozen=True, eq=False):
    """One cluster and how it came about."""

    name: str
    values: Floats
    in_flight: Floats

    @property
    def columns(self) -> Floats:
        """(nodes, 6), as a window wants it."""
        return np.concatenate([self.values, self.in_flight], axis=1)


def _grid(steps: int) -> Family:
    return lambda rng, n: rng.integers(0, steps + 1, (n, 4)) / steps


def _uniform(rng: np.random.Generator, n: int) -> Floats:
    return rng.random((n, 4))


def _overloaded(rng: np.random.Generator, n: int) -> Floats:
    return rng.random((n, 4)) * [4.0, 1.0, 1.0, 1.0]


def _zeros(rng: np.random.Generator, n: int) -> Floats:
    return np.zeros((n, 4))


def _all_equal(rng: np.random.Generator, n: int) -> Floats:
    return np.tile(rng.random(4), (n, 1))


def _one_hot(rng: np.random.Generator, n: int) -> Floats:
    values = np.full((n, 4), 0.1)
    values[rng.integers(n)] = [1.7, 0.9, 0.95, 0.6]
    return values


def _correlated(rng: np.random.Generator, n: int) -> Floats:
    return np.clip(rng.random((n, 1)) + rng.uniform(-0.05, 0.05, (n, 4)), 0, None)


def _total_chain(rng: np.random.Generator, n: int) -> Floats:
    return np.asarray(rng.permutation(np.sort(rng.random((n, 4)), axis=0)))


def _duplicates(rng: np.random.Generator, n: int) -> Floats:
    kinds = rng.random((max(1, n // 3), 4))
    return np.asarray(kinds[rng.integers(0, len(kinds), n)])


def _permuted_columns(rng: np.random.Generator, n: int) -> Floats:
    """The means of all columns are equal, and their sums are rounded differently."""
    column = rng.random(n)
    return np.stack([rng.permutation(column) for _ in range(4)], axis=1)


def _mirrored_columns(rng: np.random.Generator, n: int) -> Floats:
    column = rng.random(n)
    return np.stack([column, 1 - column, column[::-1], 1 - column[::-1]], axis=1)


def _tiny_spread(rng: np.random.Generator, n: int) -> Floats:
    return 0.5 + rng.uniform(-1e-8, 1e-8, (n, 4))


def _sparse(rng: np.random.Generator, n: int) -> Floats:
    return rng.random((n, 4)) * (rng.random((n, 4)) < 0.2)


def _antichain(rng: np.random.Generator, n: int) -> Floats:
    """Nobody dominates anybody: one front."""
    first = rng.permutation(n) / n
    return np.stack([first, 1 - first, rng.random(n), rng.random(n)], axis=1)


def _constant_columns(rng: np.random.Generator, n: int) -> Floats:
    values = rng.random((n, 4))
    values[:, rng.integers(0, 4, 2)] = 0.3
    return values


FAMILIES: dict[str, Family] = {
    "uniform": _uniform,
    "tenths": _grid(10),
    "three values": _grid(2),
    "zeros": _zeros,
    "all equal": _all_equal,
    "one hot": _one_hot,
    "cpu above one": _overloaded,
    "correlated": _correlated,
    "total chain": _total_chain,
    "duplicates": _duplicates,
    "permuted columns": _permuted_columns,
    "mirrored columns": _mirrored_columns,
    "tiny spread": _tiny_spread,
    "sparse": _sparse,
    "antichain": _antichain,
    "constant columns": _constant_columns,
}


def clusters(rounds: int, largest: int, seed: int = 1) -> list[Cluster]:
    """`rounds` of every family with 1 to `largest` nodes; migrations under way in half of them."""
    made = []
    for turn in range(rounds):
        for position, (name, family) in enumerate(FAMILIES.items()):
            rng = np.random.default_rng([seed, turn, position])
            nodes = int(rng.integers(1, largest + 1)) if turn else min(1 + position, largest)
            in_flight = rng.uniform(-0.3, 0.3, (nodes, 2)) * ((turn + position) % 2)
            made.append(Cluster(f"{name} {turn} of {nodes} nodes", family(rng, nodes), in_flight))
    return made


def node_names(count: int, prefix: str = "node") -> list[str]:
    """Names whose alphabetical order is the order of the rows."""
    return [f"{prefix}-{k:03d}" for k in range(count)]
