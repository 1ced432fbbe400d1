"""Taking in bodies: not without end, not for ever, not too many at once, and without holding up other requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

from starlette.requests import Request

from dynaroute.errors import Where
from dynaroute.service.readers import Reader
from dynaroute.service.refusals import RequestError, refuse_busy

__all__ = ["Intake"]

_FAIR_SECONDS = 1.0  # for a body to arrive, however many requests there are
# in bytes
_SMALL_BODY = 16_000  # understood at once, since a change of processes would take longer
_USUAL_BODY = 250_000  # so that a thousand customers do not wait behind matrices, and whatever else is large

Value = TypeVar("Value")


class Intake:
    """Reads and parses bodies within limits.

    Parameters
    ----------
    largest
        Of one body, in bytes.
    seconds
        For a body to arrive.
    most_held
        Of all bodies that are not parsed yet, in bytes.
    read_seconds, read_bytes
        Time and memory for understanding one body.
    """

    def __init__(self, *, largest: int, seconds: float, most_held: int, read_seconds: float, read_bytes: int) -> None:
        self._largest = largest
        self._seconds = seconds
        self._most_held = most_held
        self._held = 0
        self._arriving: dict[asyncio.Timeout, float] = {}  # since when; the longest there first
        self._reader, self._reader_of_large = (Reader(read_seconds, read_bytes) for _ in range(2))

    def prepare(self) -> None:
        """Start what reads large bodies before there is one."""
        self._reader.prepare()
        self._reader_of_large.prepare()

    async def take(self, request: Request, parse: Callable[[bytes], Value]) -> Value:
        """Read a body and parse it, a large one in another process.

        Parameters
        ----------
        request
            Whose body nobody has read yet.
        parse
            Understands the body: a function of a module, or a partial one.

        Raises
        ------
        RequestError
            413 if it is too large to be taken or understood, 408 if it does not arrive, 429 if there are too many.
        """
        self._refuse_by_head(request)
        body = bytearray()
        try:
            await self._collect(request, body)
            if len(body) <= _SMALL_BODY:
                return parse(bytes(body))
            reader = self._reader if len(body) <= _USUAL_BODY else self._reader_of_large
            return await reader.read(parse, bytes(body))
        finally:
            self._held -= len(body)

    def hurry(self, seconds: float) -> None:
        """Give bodies that are still arriving no more than this time: the service stops.

        Parameters
        ----------
        seconds
            From now.
        """
        end = asyncio.get_running_loop().time() + seconds
        for timeout in self._arriving:
            when = timeout.when()
            if when is not None and when > end and not timeout.expired():
                timeout.reschedule(end)

    def give_up_slowest(self) -> bool:
        """Wait no longer for the body that has been arriving for longest; false if all are recent."""
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
                "compressed bodies are not read here.",
                where=Where(field="Content-Encoding"),
                remedy="Send the body as it is.",
            )

    async def _collect(self, request: Request, body: bytearray) -> None:
        """Fill in the body, and count it as held."""
        try:
            async with asyncio.timeout(self._seconds) as timeout:
                self._arriving[timeout] = asyncio.get_running_loop().time()
                try:
                    while await self._collect_chunk(request, body):
                        pass
                finally:  # before it ends: one that has ended cannot be hurried
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
        """Take the next part of a body; return whether there is more."""
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise RequestError(HTTPStatus.BAD_REQUEST, "disconnected", "the client left before its body had arrived.")
        chunk = message.get("body", b"")
        body += chunk
        self._held += len(chunk)
        if len(body) > self._largest:
            raise self._too_large()
        if self._held > self._most_held:
            raise refuse_busy(1.0, "large bodies")
        return bool(message.get("more_body", False))

    def _too_large(self) -> RequestError:
        return RequestError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "too_large",
            f"the body has more than {self._largest} bytes.",
            remedy="Send a smaller problem, or solve it with the command line.",
        )
