"""Choices for many pods at one moment, in a text that Numba can compile.

Each choice rests on the one before it, so thousands of them cannot be made in an array. This is
what `Scheduler.choose` and `ReplicaPlacement.reserve` do for one pod after the other; a property
test holds the two equal. Without Numba the text runs as plain Python, a hundred times as slow:
good enough for that test.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from random import Random
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trimtab.sim.fleet import Integers, Numbers
from trimtab.sim.placement.scheduler_scores import worth_by
from trimtab.sim.placement.score_cache import NodeScores

COMPILED = find_spec("numba") is not None

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint32]
Text = TypeVar("Text", bound=Callable[..., Any])
FEWEST_WORDS = 64
"""Random words for a few pods: a draw takes one word, or another if it is too high."""


def compiled(text: Text) -> Text:
    """The text as Numba compiles it when it is first called; itself where there is no Numba."""
    if not COMPILED:
        return text
    from numba import njit

    fast: Text = njit(text)  # no cache: it would not notice a change in scheduler_scores.py
    return fast


worth_of_node = compiled(worth_by(min, int))


@compiled
def count_of(level: int, levels: Bytes) -> int:
    """How many nodes are worth so much."""
    count = 0
    for each in levels:
        count += each == level
    return count


@compiled
def highest_of(levels: Bytes) -> int:
    highest: int = levels[0]
    for each in levels:
        highest = max(highest, each)
    return highest


@compiled
def place_of(number: int, level: int, levels: Bytes) -> int:
    """Where a node is worth so much: the one with this number among these."""
    for place, each in enumerate(levels):
        if each == level:
            if number == 0:
                return place
            number -= 1
    return -1


@compiled
def searched(mine: Bytes, first: int, wanted: int) -> tuple[int, int]:
    """From which place to which a pod's search goes: until so many nodes with room are found."""
    nodes = len(mine) // 2
    if wanted >= nodes:
        return 0, nodes
    end, missing = first, wanted
    while missing and end < first + nodes:
        looked, end = end, min(end + missing, first + nodes)
        missing += count_of(0, mine[looked:end]) - (end - looked)
    return first, end


@compiled
def renew(
    node: int, levels: Bytes, asks: Integers, pack: bool, promised: Integers, whole: Integers
) -> None:
    """A node has promised more: what it is worth to each kind of pod."""
    for kind in range(len(levels)):
        if levels[kind, node]:  # closed or full it stays so
            levels[kind, node] = levels[kind, node + len(promised)] = worth_of_node(
                asks[kind, 0],
                asks[kind, 1],
                pack,
                promised[node, 0],
                promised[node, 1],
                promised[node, 2],
                whole[node, 0],
                whole[node, 1],
                whole[node, 2],
                whole[node, 3],
                whole[node, 4],
            )


@compiled
def place_pods(
    kinds: Integers,
    sources: Integers,
    chosen: Integers,
    levels: Bytes,
    asks: Integers,
    pack: bool,
    promised: Integers,
    whole: Integers,
    words: Words,
    first: int,
    wanted: int,
) -> tuple[int, int, int]:
    """Fill `chosen` with a node for each pod but its source, -1 where none has room.

    Returns how many pods got their turn before the random words came to an end, how many words
    were drawn, and where the next search begins.

    kinds, sources, chosen: (pods,); asks: (kinds, 2) CPU and memory.
    levels: (kinds, 2 * nodes) what nodes are worth, twice, so that a search that goes round is a
    slice; promised: (nodes, 3), whole: (nodes, 5). Levels and promises are kept up to date.
    first: where the search begins; wanted: after so many nodes with room it stops.
    """
    nodes, drawn = len(promised), 0
    for pod in range(len(kinds)):
        mine, avoid = levels[kinds[pod]], sources[pod]
        kept = mine[avoid]
        mine[avoid] = mine[avoid + nodes] = 0
        begin, end = searched(mine, first, wanted)
        best = highest_of(mine[begin:end])
        count = count_of(best, mine[begin:end])
        number: Any = 0
        if best and count > 1:
            shift, bits = 32, count
            while bits:
                shift, bits = shift - 1, bits >> 1
            number = count
            while number >= count:
                if drawn == len(words):
                    mine[avoid] = mine[avoid + nodes] = kept
                    return pod, drawn, first
                number = np.int64(words[drawn] >> shift)
                drawn += 1
        node = (begin + place_of(number, best, mine[begin:end])) % nodes if best else -1
        mine[avoid] = mine[avoid + nodes] = kept
        if wanted < nodes:
            first = end % nodes
        chosen[pod] = node
        if node >= 0:
            promised[node, 0] += asks[kinds[pod], 0]
            promised[node, 1] += asks[kinds[pod], 1]
            promised[node, 2] += 1
            renew(node, levels, asks, pack, promised, whole)
    return len(kinds), drawn, first


def place_burst(
    scores: Sequence[NodeScores],
    kinds: Numbers,
    sources: Numbers,
    ties: Random,
    first: int,
    wanted: int,
) -> tuple[Numbers, int]:
    """A node for each pod but its source (-1 if none fits), and where the next search begins.

    scores: one for each kind of pod, as of now; ties: draws what one pod after the other would.
    """
    chosen = np.empty(len(kinds), dtype=np.intp)
    levels = np.stack([each.levels for each in scores])
    asks = np.array([(each.cpu, each.memory) for each in scores], dtype=np.int64)
    promised, whole = scores[0].promised_and_whole()
    done = 0
    while done < len(kinds):
        before, left = ties.getstate(), slice(done, None)
        words = random_words(ties, 2 * len(kinds) + FEWEST_WORDS)
        turns, drawn, first = place_pods(
            kinds[left],
            sources[left],
            chosen[left],
            levels,
            asks,
            scores[0].pack,
            promised,
            whole,
            words,
            first,
            wanted,
        )
        done += turns
        ties.setstate(before)
        random_words(ties, drawn)
    return chosen, first


def random_words(source: Random, count: int) -> Words:
    """So many draws of 32 bits each; of fewer bits Python draws the upper ones of 32."""
    drawn = source.getrandbits(32 * count) if count else 0
    return np.frombuffer(drawn.to_bytes(4 * count, "little"), dtype="<u4")
