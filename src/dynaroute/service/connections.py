"""All connections of the service: not more than there are file handles for, and none that holds an answer for ever."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from dynaroute.service.throttled_log import ThrottledLog

__all__ = ["ACCEPTED_AT_ONCE", "Connection", "Connections", "afford_connections"]

ACCEPTED_AT_ONCE = 32  # connections that the event loop takes before it looks at anything else
_SPARE_HANDLES = 64 + 3 * ACCEPTED_AT_ONCE  # for files, libraries, jobs on disk, and those accepted but not counted yet
_FEWEST = 16


class Connection(Protocol):
    """What is asked of a connection."""

    @property
    def unread(self) -> int:
        """Bytes of answers that the client has not taken."""

    def drop(self) -> None:
        """End it now, whatever it still has to send."""


class Connections:
    """Counts connections, and chooses which to drop where there are too many.

    Parameters
    ----------
    most
        At the same time.
    most_unread
        Bytes of answers that clients have not taken, all together.
    log
        Told when connections are dropped.
    """

    def __init__(self, most: int, most_unread: int, log: ThrottledLog) -> None:
        self.most = most
        self._most_unread = most_unread
        self._log = log
        self._all: set[Connection] = set()
        # the longest there first
        self._idle: dict[Connection, None] = {}
        self._stalled: dict[Connection, None] = {}

    def __len__(self) -> int:
        return len(self._all)

    @property
    def stalled(self) -> int:
        """Connections whose clients do not take their answers as fast as they are sent."""
        return len(self._stalled)

    def add(self, connection: Connection) -> None:
        """Count a new connection, and drop the one that has been idle longest if there are too many."""
        self._all.add(connection)
        self._idle[connection] = None
        if len(self._all) > self.most:
            self._log.warn(f"There are more than {self.most} connections: idle ones are dropped.")
            self._drop(next(iter(self._idle)))

    def remove(self, connection: Connection) -> None:
        """Forget a connection that has ended."""
        self._all.discard(connection)
        self._idle.pop(connection, None)
        self._stalled.pop(connection, None)

    def note_request(self, connection: Connection) -> None:
        """A request is there: the connection is not idle."""
        self._idle.pop(connection, None)

    def note_answer(self, connection: Connection) -> None:
        """The request is answered: the connection is idle from now on."""
        if connection in self._all:
            self._idle.pop(connection, None)
            self._idle[connection] = None

    def note_stall(self, connection: Connection) -> None:
        """The client is behind; drop those that have been for longest, where too much is held for them all."""
        self._stalled[connection] = None
        while len(self._stalled) > 1 and sum(other.unread for other in self._stalled) > self._most_unread:
            self._log.warn(f"Clients leave more than {self._most_unread} bytes of answers unread: some are dropped.")
            self._drop(next(iter(self._stalled)))

    def note_progress(self, connection: Connection) -> None:
        """The client has caught up."""
        self._stalled.pop(connection, None)

    def drop_unread(self) -> None:
        """Drop all whose clients have not taken their answers: the service ends."""
        for connection in [connection for connection in self._all if connection.unread]:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        self.remove(connection)
        connection.drop()


def afford_connections(wanted: int) -> int:
    """How many connections there are file handles for; the system is asked for more where it has them.

    Parameters
    ----------
    wanted
        As many, if possible.
    """
    try:
        import resource
    except ModuleNotFoundError:  # Windows, which counts otherwise
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _SPARE_HANDLES
    if soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(_FEWEST, min(wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _SPARE_HANDLES))
