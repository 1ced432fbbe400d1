"""Cancelling work when its client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from http import HTTPStatus
from typing import TypeVar

from starlette.requests import Request

from dynaroute.service.messages.refusals import RequestError

__all__ = ["cancel_with_client"]

Value = TypeVar("Value")


async def cancel_with_client(work: Coroutine[None, None, Value], request: Request) -> Value:
    """Await work, but cancel it when the client disconnects."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
    finally:
        leaving.cancel()
        working.cancel()
    raise RequestError(HTTPStatus.BAD_REQUEST, "disconnected", "the client disconnected before the answer.")


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
