"""Starting requests a few at a time, so that a thousand at once do not block the event loop."""

from __future__ import annotations

import asyncio
from collections import deque

__all__ = ["Turns"]

_MOST = 32  # requests per round of the event loop; fewer would make smaller batches


class Turns:
    """Lets the first requests of a round start at once, and the others in later rounds, in order."""

    def __init__(self) -> None:
        self._begun = 0  # in this round of the event loop
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    async def take(self) -> None:
        """Wait for a turn; with few requests there is no wait."""
        if self._begun < _MOST and not self._waiting:
            self._note_begin()
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _note_begin(self) -> None:
        if not self._begun:
            asyncio.get_running_loop().call_soon(self._begin_round)
        self._begun += 1

    def _begin_round(self) -> None:
        self._begun = 0
        while self._waiting and self._begun < _MOST:
            turn = self._waiting.popleft()
            if not turn.done():  # its request was cancelled
                self._note_begin()
                turn.set_result(None)
