"""A log for warnings that may occur thousands of times a second."""

from __future__ import annotations

import logging
import time

_MINUTE = 60.0
_LOG = logging.getLogger("dynaroute.service")


class ThrottledLog:
    """Writes each warning at most once a minute, with the number of repetitions."""

    def __init__(self) -> None:
        self._written_at: dict[str, float] = {}
        self._withheld: dict[str, int] = {}

    def warn(self, message: str) -> None:
        """Write or count a warning; the message must be constant."""
        now = time.monotonic()
        if now - self._written_at.get(message, -_MINUTE) < _MINUTE:
            self._withheld[message] = self._withheld.get(message, 0) + 1
            return
        more = self._withheld.pop(message, 0)
        self._written_at[message] = now
        _LOG.warning("%s%s", message, f" ({more} times more in the last minutes)" if more else "")
