"""Sending responses of limited size. Schemas write their JSON themselves, without a second validation."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from pydantic import BaseModel
from starlette.responses import Response

from dynaroute.service.refusals import make_large_error

__all__ = ["refuse_large_answer", "reply", "reply_json"]


def reply(
    answer: BaseModel, largest: int, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """Send a response."""
    return reply_json(answer.model_dump_json(), largest, status, headers)


def reply_json(
    document: str, largest: int, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """Send a response that is already JSON."""
    content = document.encode()
    refuse_large_answer(content, largest)
    return Response(content, status.value, headers=headers, media_type="application/json")


def refuse_large_answer(content: bytes, largest: int) -> None:
    """Raise if the response is too large."""
    if len(content) > largest:
        raise make_large_error(f"the answer has {len(content)} bytes, more than the limit of {largest}.")
