"""Taking in bodies: not without end, not for ever, not too many at once, and without holding up other requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import TypeVar

from starlette.requests import Request

from dynaroute.errors import Where
from dynaroute.service.refusals import RequestError, refuse_busy

__all__ = ["Intake"]

_READERS = 2
_SMALL_BODY = 16_000  # bytes; parsed at once, since a change of threads would take longer

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
    """

    def __init__(self, *, largest: int, seconds: float, most_held: int) -> None:
        self._largest = largest
        self._seconds = seconds
        self._most_held = most_held
        self._held = 0
        self._arriving: set[asyncio.Timeout] = set()
        self._readers = ThreadPoolExecutor(_READERS, "dynaroute-read")

    async def take(self, request: Request, parse: Callable[[bytes], Value]) -> Value:
        """Read a body and parse it, a large one in a thread.

        Parameters
        ----------
        request
            Whose body nobody has read yet.
        parse
            Understands the body.

        Raises
        ------
        RequestError
            413 if it is too large, 408 if it does not arrive, 429 if there are too many.
        """
        self._refuse_by_head(request)
        body = bytearray()
        try:
            await self._collect(request, body)
            if len(body) <= _SMALL_BODY:
                return parse(bytes(body))
            return await asyncio.get_running_loop().run_in_executor(self._readers, parse, bytes(body))
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

    def stop(self) -> None:
        """End the threads."""
        self._readers.shutdown(wait=False, cancel_futures=True)

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
                self._arriving.add(timeout)
                try:
                    while await self._collect_chunk(request, body):
                        pass
                finally:  # before it ends: one that has ended cannot be hurried
                    self._arriving.discard(timeout)
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
