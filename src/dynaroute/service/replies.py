"""Answers as responses, none without end. The models write their JSON themselves: no second check of them."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from pydantic import BaseModel
from starlette.responses import Response

from dynaroute.service.refusals import refuse_large

__all__ = ["refuse_large_answer", "reply", "reply_json"]


def reply(
    answer: BaseModel, largest: int, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """Send an answer.

    Parameters
    ----------
    answer
        What to say.
    largest
        Bytes that an answer may have.
    status
        Of the response.
    headers
        To be sent with it.
    """
    return reply_json(answer.model_dump_json(), largest, status, headers)


def reply_json(
    document: str, largest: int, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """Send an answer that is JSON already.

    Parameters
    ----------
    document
        What to say.
    largest, status, headers
        As above.
    """
    content = document.encode()
    refuse_large_answer(content, largest)
    return Response(content, status.value, headers=headers, media_type="application/json")


def refuse_large_answer(content: bytes, largest: int) -> None:
    """Refuse to send more than that.

    Parameters
    ----------
    content
        What would be sent.
    largest
        Bytes that an answer may have.
    """
    if len(content) > largest:
        raise refuse_large(f"the answer has {len(content)} bytes, of {largest} at most.")
