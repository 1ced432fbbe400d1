"""Error responses: a status, and the same shape for all errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from dynaroute.base.errors import DynarouteError, FileError, ModelError, PlanError, Where
from dynaroute.service.messages.response_schemas import (
    MOST_VIOLATIONS,
    ErrorResponse,
    FaultPlaceSchema,
    PlanErrorResponse,
    ViolationSchema,
)

_LONGEST_TEXT = 1_000


class RequestError(DynarouteError):
    """A refused request, with its HTTP status.

    Parameters
    ----------
    status
        HTTP status.
    code
        One word for programs.
    message, where, remedy
        As in every `DynarouteError`.
    headers
        Headers of the response.
    """

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        message: str,
        *,
        where: Where | None = None,
        remedy: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.status = status
        self.kind = code
        self.headers = dict(headers or {})

    def __reduce__(self) -> tuple[Any, ...]:
        """Make it picklable: by default, exceptions are restored from their message only."""
        return type(self), (self.status, self.kind, self.message), self.__dict__


INTERNAL = RequestError(
    HTTPStatus.INTERNAL_SERVER_ERROR,
    "internal",
    "the service failed; your request is not at fault.",
    remedy="Try again; if it persists, tell the operator of the service.",
)


def make_busy_error(seconds: float, what: str) -> RequestError:
    """Make the error for a full queue: too many of `what`, try again in about this many seconds."""
    wait = max(1, min(60, math.ceil(seconds)))
    return RequestError(
        HTTPStatus.TOO_MANY_REQUESTS,
        "busy",
        f"there are too many {what} at the moment.",
        remedy=f"Send the request again in {wait} s.",
        headers={"Retry-After": str(wait)},
    )


def make_unavailable_error(code: str, message: str) -> RequestError:
    """Make the error for a service that is starting or stopping."""
    return RequestError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        code,
        message,
        remedy="Send the request again in a few seconds.",
        headers={"Retry-After": "2"},
    )


def make_large_error(message: str, field: str | None = None) -> RequestError:
    """Make the error for a body that is too large."""
    return RequestError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "too_large",
        message,
        where=Where(field=field),
        remedy="Split the problem, or solve it with the command line.",
    )


def make_invalid_error(errors: Sequence[Any], path: str = "") -> RequestError:
    """Make the error for the first thing that pydantic found wrong."""
    first = errors[0]
    parts = [str(part) for part in first["loc"] if part not in ("query", "body", "path")]
    name = ".".join([path, *parts] if path else parts)
    if first["type"] == "extra_forbidden":
        message, remedy = "there is no such option.", "Leave it out."
    else:
        message, remedy = f"{first['msg'][:1].lower()}{first['msg'][1:]}.", "Change the value, or leave it out."
    return RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, "option", message, where=Where(field=name), remedy=remedy)


def to_response(error: DynarouteError) -> Response:
    """Convert an error to a response; errors of the parsers and the solver are about the problem."""
    shown = _hide_own_files(error)
    status = shown.status if isinstance(shown, RequestError) else HTTPStatus.UNPROCESSABLE_ENTITY
    headers = shown.headers if isinstance(shown, RequestError) else {}
    body = describe_error(shown).model_dump_json()
    return Response(body, status.value, headers=headers, media_type="application/json")


def describe_error(error: DynarouteError) -> ErrorResponse:
    """Convert an error to the common shape."""
    shown = _hide_own_files(error)
    if not isinstance(shown, PlanError):
        return ErrorResponse(**_describe_parts(shown))
    return PlanErrorResponse(
        **_describe_parts(shown),
        violations=[
            ViolationSchema.model_validate({**found, "message": _make_safe(str(found["message"]))})
            for found in shown.violations[:MOST_VIOLATIONS]
        ],
        left_out=max(0, len(shown.violations) - MOST_VIOLATIONS),
    )


def _describe_parts(shown: DynarouteError) -> dict[str, Any]:
    """Return what all errors have."""
    where = shown.where
    return {
        "code": shown.kind if isinstance(shown, RequestError) else type(shown).code,
        "message": _make_safe(shown.message),
        "where": FaultPlaceSchema(
            file=None if where.file is None else _make_safe(where.file),
            line=where.line,
            field=None if where.field is None else _make_safe(where.field),
            customer=where.customer,
        ),
        "remedy": _make_safe(shown.remedy),
    }


def _hide_own_files(error: DynarouteError) -> DynarouteError:
    """Return the error, without paths of the service's own files."""
    return INTERNAL if isinstance(error, FileError | ModelError) else error


def _make_safe(text: str) -> str:
    """Make text safe for UTF-8 and limit its length, because it may quote the request."""
    shown = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
    return shown.encode("utf-8", "backslashreplace").decode()
