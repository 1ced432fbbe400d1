"""Receiving and parsing bodies, with limits on size, time and number."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

from starlette.requests import Request

from dynaroute.base.errors import Where
from dynaroute.service.messages.readers import Reader
from dynaroute.service.messages.refusals import RequestError, make_busy_error

_FAIR_SECONDS = 1.0  # granted to every body, however many requests there are
# in bytes
_SMALL_BODY = 16_000  # parsed at once, because another process would take longer
_USUAL_BODY = 250_000  # so that ordinary bodies do not wait behind very large ones

Value = TypeVar("Value")


class Intake:
    """Reads and parses bodies within limits.

    Parameters
    ----------
    largest
        Largest body, in bytes.
    seconds
        Time for a body to arrive.
    most_held
        Most bytes of all bodies that are not yet parsed.
    read_seconds, read_bytes
        Time and memory for parsing one body.
    waits
        Whether parsing waits for another server, so that no body is parsed at once.
    """

    def __init__(
        self, *, largest: int, seconds: float, most_held: int, read_seconds: float, read_bytes: int, waits: bool = False
    ) -> None:
        self._largest = largest
        self._at_once = 0 if waits else _SMALL_BODY
        self._seconds = seconds
        self._most_held = most_held
        self._held = 0
        self._arriving: dict[asyncio.Timeout, float] = {}  # start times, oldest first
        self._reader, self._reader_of_large = (Reader(read_seconds, read_bytes) for _ in range(2))

    def prepare(self) -> None:
        """Start the processes for large bodies in advance."""
        self._reader.prepare()
        self._reader_of_large.prepare()

    async def take(self, request: Request, parse: Callable[[bytes], Value]) -> Value:
        """Read a body and parse it, a large one in another process.

        Parameters
        ----------
        request
            A request whose body is unread.
        parse
            Parses the body; it must be picklable.

        Raises
        ------
        RequestError
            413 if it is too large, 408 if it does not arrive in time, 429 if there are too many.
        """
        self._refuse_by_head(request)
        body = bytearray()
        try:
            await self._collect(request, body)
            if len(body) <= self._at_once:
                return parse(bytes(body))
            reader = self._reader if len(body) <= _USUAL_BODY else self._reader_of_large
            return await reader.read(parse, bytes(body))
        finally:
            self._held -= len(body)

    def shorten_deadlines(self, seconds: float) -> None:
        """Give arriving bodies at most this many seconds, because the service stops."""
        end = asyncio.get_running_loop().time() + seconds
        for timeout in self._arriving:
            when = timeout.when()
            if when is not None and when > end and not timeout.expired():
                timeout.reschedule(end)

    def give_up_slowest(self) -> bool:
        """Stop waiting for the slowest body; false if all are recent."""
        now = asyncio.get_running_loop().time()
        timeout, since = next(iter(self._arriving.items()), (None, now))
        if timeout is None or now - since < _FAIR_SECONDS:
            return False
        del self._arriving[timeout]
        if not timeout.expired():
            timeout.reschedule(now)
        return True

    def stop(self) -> None:
        """End the processes."""
        self._reader.stop()
        self._reader_of_large.stop()

    def _refuse_by_head(self, request: Request) -> None:
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > self._largest:
            raise self._too_large()
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise RequestError(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "media_type",
                "compressed bodies are not supported.",
                where=Where(field="Content-Encoding"),
                remedy="Send the body uncompressed.",
            )

    async def _collect(self, request: Request, body: bytearray) -> None:
        """Receive the body, counting its bytes."""
        try:
            async with asyncio.timeout(self._seconds) as timeout:
                self._arriving[timeout] = asyncio.get_running_loop().time()
                try:
                    while await self._collect_chunk(request, body):
                        pass
                finally:  # before the timeout ends, because then it cannot be changed
                    self._arriving.pop(timeout, None)
        except TimeoutError:
            raise RequestError(
                HTTPStatus.REQUEST_TIMEOUT,
                "timeout",
                "the body did not arrive in time.",
                remedy="Send the whole body at once. Is Content-Length right?",
                headers={"Connection": "close"},
            ) from None

    async def _collect_chunk(self, request: Request, body: bytearray) -> bool:
        """Receive the next part of a body; returns whether there is more."""
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise RequestError(
                HTTPStatus.BAD_REQUEST, "disconnected", "the client disconnected before its body had arrived."
            )
        chunk = message.get("body", b"")
        body += chunk
        self._held += len(chunk)
        if len(body) > self._largest:
            raise self._too_large()
        if self._held > self._most_held:
            raise make_busy_error(1.0, "large bodies")
        return bool(message.get("more_body", False))

    def _too_large(self) -> RequestError:
        return RequestError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "too_large",
            f"the body has more than {self._largest} bytes.",
            remedy="Send a smaller problem, or solve it with the command line.",
        )
