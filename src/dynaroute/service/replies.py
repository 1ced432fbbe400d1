"""Answers as responses. The models write their JSON themselves: no second check, which would take its time."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from pydantic import BaseModel
from starlette.responses import Response

__all__ = ["reply"]


def reply(answer: BaseModel, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None) -> Response:
    """Send an answer.

    Parameters
    ----------
    answer
        What to say.
    status
        Of the response.
    headers
        To be sent with it.
    """
    return Response(answer.model_dump_json(), status.value, headers=headers, media_type="application/json")
