"""A least time between two requests, for servers that ask for it."""

import asyncio


class RequestPacer:
    """Requests take turns; those that come at the same time wait one after the other."""

    def __init__(self, least_s: float = 0.0) -> None:
        self._least_s, self._next_at = least_s, 0.0
        self.turns = 0

    async def turn(self) -> None:
        """Wait until the next request may be sent."""
        self.turns += 1
        now = asyncio.get_running_loop().time()
        at = max(self._next_at, now)
        self._next_at = at + self._least_s
        if at > now:
            await asyncio.sleep(at - now)
