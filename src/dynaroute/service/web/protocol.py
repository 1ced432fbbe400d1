"""Uvicorn's HTTP/1.1 protocol, with time limits for clients that send or read slowly."""

from __future__ import annotations

import asyncio
import socket
import struct
from http import HTTPStatus
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from dynaroute.service.messages.refusals import RequestError, to_response
from dynaroute.service.work.connections import Connections

_CLOSE = (b"connection", b"close")
_AT_ONCE = struct.pack("ii", 1, 0)  # linger for 0 seconds
_NOT_HTTP = RequestError(HTTPStatus.BAD_REQUEST, "http", "this is not HTTP/1.1.", remedy="Send a well-formed request.")


def make_protocol(connections: Connections, patience: float, answer_seconds: float) -> type[H11Protocol]:
    """Make a protocol class for uvicorn.

    Parameters
    ----------
    connections
        The service's connections.
    patience
        Seconds for the head of a request to arrive.
    answer_seconds
        Seconds for a client to read its answer.
    """
    settled = {"everybody": connections, "patience": patience, "answer_seconds": answer_seconds}
    return type("PatientProtocol", (_Protocol,), settled)


class _Protocol(H11Protocol):
    """Closes connections that send or read nothing, and answers invalid HTTP with our error shape."""

    everybody: ClassVar[Connections]
    patience: ClassVar[float]
    answer_seconds: ClassVar[float]
    _request_watch: asyncio.TimerHandle | None = None
    _answer_watch: asyncio.TimerHandle | None = None

    @property
    def unread(self) -> int:
        """Bytes of answers that the client has not read."""
        return self.transport.get_write_buffer_size()

    @property
    def is_idle(self) -> bool:
        """Whether no request is waiting for an answer."""
        return self.cycle is None or self.cycle.response_complete

    def drop(self) -> None:
        """Abort the connection; closing it would wait until the client has read everything."""
        if not self.unread:
            self.transport.close()
            return
        # otherwise the system would keep its buffered part of the answer
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch_for_request(self.patience)
        self.everybody.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_request_watch()
        self._end_answer_watch()
        self.everybody.remove(self)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if not self.is_idle:
            self.everybody.note_request(self)

    def on_response_complete(self) -> None:
        self._end_request_watch()
        # Idle connections are closed earlier. This is for a next head, or the rest of a refused body, that arrives very
        # slowly, and for the end of an answer that is not read.
        self._watch_for_request(self.timeout_keep_alive + self.patience)
        self.everybody.note_answer(self)
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._answer_watch = self.loop.call_later(self.answer_seconds, self.drop)
        self.everybody.note_stall(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._end_answer_watch()
        self.everybody.note_progress(self)

    def timeout_keep_alive_handler(self) -> None:
        if not self.unread:  # otherwise the watch decides
            super().timeout_keep_alive_handler()

    def send_400_response(self, msg: str) -> None:
        response = to_response(_NOT_HTTP)
        head = h11.Response(status_code=response.status_code, headers=[*response.raw_headers, _CLOSE])
        for event in (head, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _watch_for_request(self, seconds: float) -> None:
        self._request_watch = self.loop.call_later(seconds, self._give_up)

    def _end_request_watch(self) -> None:
        if self._request_watch is not None:
            self._request_watch.cancel()

    def _end_answer_watch(self) -> None:
        if self._answer_watch is not None:
            self._answer_watch.cancel()

    def _give_up(self) -> None:
        if not self.is_idle:
            return
        if self.unread:
            self._request_watch = self.loop.call_later(self.answer_seconds, self.drop)
        else:
            self.transport.close()
