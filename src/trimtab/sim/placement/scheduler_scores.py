"""The formula of the kube-scheduler's scores: what a node is worth to a pod.

Only the scores that differ between nodes are here. The formula is written once for all uses:
for all nodes in arrays, for one node in plain numbers, and for Numba.
"""

from collections.abc import Callable
from typing import Any

DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024**2
"""What a container without requests counts for in LeastAllocated and MostAllocated."""


def worth_by(least: Callable[[Any, Any], Any], whole: Callable[[Any], Any]) -> Callable[..., Any]:
    """The formula, with the minimum of two values and the whole part of one."""

    def worth(
        own_cpu: Any,
        own_memory: Any,
        pack: Any,
        cpu: Any,
        memory: Any,
        pods: Any,
        all_cpu: Any,
        all_memory: Any,
        all_pods: Any,
        assumed_cpu: Any,
        assumed_memory: Any,
    ) -> Any:
        """One more than the points where there is room, else 0.

        own_cpu, own_memory: what the pod asks for; pack: MostAllocated instead of LeastAllocated;
        cpu, memory, pods: what the node has promised; all_...: what it can promise;
        assumed_...: what scores count for its containers without requests.
        """
        room = (cpu + own_cpu <= all_cpu) & (memory + own_memory <= all_memory) & (pods < all_pods)
        counted_cpu = own_cpu if own_cpu else DEFAULT_MILLI_CPU
        counted_memory = own_memory if own_memory else DEFAULT_MEMORY
        used_cpu = least(cpu + counted_cpu + assumed_cpu, all_cpu)
        used_memory = least(memory + counted_memory + assumed_memory, all_memory)
        if not pack:
            used_cpu, used_memory = all_cpu - used_cpu, all_memory - used_memory
        points = (used_cpu * 100 // all_cpu + used_memory * 100 // all_memory) // 2
        if own_cpu or own_memory:
            before = abs(least(cpu / all_cpu, 1.0) - least(memory / all_memory, 1.0))
            # Shares above 1 would count as 1, but such nodes have no room anyway.
            after = abs((cpu + own_cpu) / all_cpu - (memory + own_memory) / all_memory)
            even = whole((1 - after / 2) * 100) - whole((1 - before / 2) * 100)
            points += 50 + (50 + even) // 2
        return (points + 1) * room

    return worth
