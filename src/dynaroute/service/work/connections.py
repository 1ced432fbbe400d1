"""Limits on connections: their number, and how long they may leave answers unread."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from dynaroute.service.work.throttled_log import ThrottledLog

ACCEPTED_AT_ONCE = 32  # connections that the event loop accepts at a time
_SPARE_HANDLES = 64 + 3 * ACCEPTED_AT_ONCE  # for files, libraries, jobs on disk, and connections not yet counted
_FEWEST = 16


class Connection(Protocol):
    """The interface of a connection."""

    @property
    def unread(self) -> int:
        """Bytes of answers that the client has not read."""

    def drop(self) -> None:
        """Close it at once, discarding unsent data."""


class Connections:
    """Counts connections, and drops some if there are too many.

    Parameters
    ----------
    most
        Most connections at a time.
    most_unread
        Most unread bytes of answers, over all clients.
    log
        Where dropped connections are reported.
    """

    def __init__(self, most: int, most_unread: int, log: ThrottledLog) -> None:
        self.most = most
        self._most_unread = most_unread
        self._log = log
        self._all: set[Connection] = set()
        # oldest first
        self._idle: dict[Connection, None] = {}
        self._stalled: dict[Connection, None] = {}

    def __len__(self) -> int:
        return len(self._all)

    @property
    def stalled(self) -> int:
        """Number of connections whose clients read too slowly."""
        return len(self._stalled)

    def add(self, connection: Connection) -> None:
        """Add a connection; if there are too many, drop the one idle longest."""
        self._all.add(connection)
        self._idle[connection] = None
        if len(self._all) > self.most:
            self._log.warn(f"There are more than {self.most} connections: idle ones are dropped.")
            self._drop(next(iter(self._idle)))

    def remove(self, connection: Connection) -> None:
        """Remove a closed connection."""
        self._all.discard(connection)
        self._idle.pop(connection, None)
        self._stalled.pop(connection, None)

    def note_request(self, connection: Connection) -> None:
        """Mark the connection as busy."""
        self._idle.pop(connection, None)

    def note_answer(self, connection: Connection) -> None:
        """Mark the connection as idle."""
        if connection in self._all:
            self._idle.pop(connection, None)
            self._idle[connection] = None

    def note_stall(self, connection: Connection) -> None:
        """Record a slow client; if too much is unread in total, drop the slowest."""
        self._stalled[connection] = None
        while len(self._stalled) > 1 and sum(other.unread for other in self._stalled) > self._most_unread:
            self._log.warn(f"Clients leave more than {self._most_unread} bytes of answers unread: some are dropped.")
            self._drop(next(iter(self._stalled)))

    def note_progress(self, connection: Connection) -> None:
        """Record that a client has caught up."""
        self._stalled.pop(connection, None)

    def drop_unread(self) -> None:
        """Drop all clients with unread answers, because the service ends."""
        for connection in [connection for connection in self._all if connection.unread]:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        self.remove(connection)
        connection.drop()


def afford_connections(wanted: int) -> int:
    """Return how many connections the file handles allow, raising the system's limit if possible."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _SPARE_HANDLES
    if soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(_FEWEST, min(wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _SPARE_HANDLES))
