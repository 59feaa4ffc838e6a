"""Moving ports that a component could not bind because somebody took them after our choice.

A component on another port must be described again from the lab's stacks, which `up` has and
the supervisor has not. So `up` follows the start, chooses other ports, and lets the supervisor
restart the components that use them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from trimtab.lab.status import Event

TRIES = 5
"""How often the ports of one component move in one `up`: then it is given up, and said."""

_TAKEN = re.compile("address already in use", re.IGNORECASE)


def lost_ports(ports: Mapping[str, int], lines: Iterable[str]) -> list[str]:
    """Names of the ports that could not be bound, as the last lines of a component's log say."""
    numbers = {
        int(number)
        for line in lines
        if _TAKEN.search(line)
        for number in re.findall(r"(?<![\w.])\d{2,5}(?![\w.])", line)
    }
    return [name for name, port in ports.items() if port in numbers]


class PortMover:
    """Looks at events and moves what was lost, each component's ports a few times at most.

    `move` gives the lab other ports for those that the lines name; False if there were none.
    """

    def __init__(self, move: Callable[[tuple[str, ...]], bool]) -> None:
        self._move = move
        self._moved: Counter[str] = Counter()

    def mend(self, event: Event) -> bool:
        """True if the event told of a lost port, and the port has moved."""
        died = event.state in ("backing-off", "gave-up")
        if not died or self._moved[event.unit] >= TRIES or not self._move(event.last_lines):
            return False
        self._moved[event.unit] += 1
        return True
