"""HTTP/1.1 as uvicorn speaks it, with less patience for clients that are slow, or speak something else."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from dynaroute.service.refusals import RequestError, to_response

__all__ = ["make_protocol"]

_CLOSE = (b"connection", b"close")
_NOT_HTTP = RequestError(HTTPStatus.BAD_REQUEST, "http", "this is not HTTP/1.1.", remedy="Send a well-formed request.")


def make_protocol(patience: float) -> type[H11Protocol]:
    """Make a protocol for uvicorn, which wants a class.

    Parameters
    ----------
    patience
        Seconds in which the head of a request must have arrived.
    """
    return type("PatientProtocol", (_Protocol,), {"patience": patience})


class _Protocol(H11Protocol):
    """Closes connections on which no request arrives, and answers what is no HTTP in the shape of all errors."""

    patience: ClassVar[float]
    _watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch_for_request(self.patience)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_watch()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._end_watch()
        # An idle connection is closed earlier; this is for one on which the next head, or the rest of a body that was
        # refused, comes in drops.
        self._watch_for_request(self.timeout_keep_alive + self.patience)

    def send_400_response(self, msg: str) -> None:
        response = to_response(_NOT_HTTP)
        head = h11.Response(status_code=response.status_code, headers=[*response.raw_headers, _CLOSE])
        for event in (head, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _watch_for_request(self, seconds: float) -> None:
        self._watch = self.loop.call_later(seconds, self._give_up)

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()

    def _give_up(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
