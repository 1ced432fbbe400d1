"""Sending responses of limited size: the bytes are counted while a response is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus

from pydantic import BaseModel
from pydantic_core import to_json
from starlette.responses import Response

from dynaroute.service.messages.refusals import make_large_error

_AT_ONCE = 1_000  # plain values that are written in one go


def reply(
    answer: BaseModel, largest: int, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """Send a response of at most `largest` bytes."""
    return reply_json(write_json(answer.model_dump(), largest), status, headers)


def reply_json(
    content: bytes, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """Send a response that is already JSON."""
    return Response(content, status.value, headers=headers, media_type="application/json")


def write_json(document: object, largest: int) -> bytes:
    """Write a document of plain data as JSON.

    Raises
    ------
    RequestError
        413, as soon as there are too many bytes.
    """
    parts, size = [], 0
    for part in _write_parts(document):
        size += len(part)
        if size > largest:
            raise make_large_error(f"the answer has more than {largest} bytes.")
        parts.append(part)
    return b"".join(parts)


def _write_parts(value: object) -> Iterator[bytes]:
    if isinstance(value, Mapping):
        yield b"{"
        for index, (key, entry) in enumerate(value.items()):
            yield b"," if index > 0 else b""
            yield _write(key) + b":"
            yield from _write_parts(entry)
        yield b"}"
    elif isinstance(value, list | tuple):
        yield b"["
        yield from _write_entries(value)
        yield b"]"
    else:
        yield _write(value)


def _write_entries(entries: Sequence[object]) -> Iterator[bytes]:
    is_plain = not any(isinstance(entry, list | tuple | Mapping) for entry in entries)
    for index in range(0, len(entries), _AT_ONCE if is_plain else 1):
        yield b"," if index > 0 else b""
        if is_plain:
            yield _write(entries[index : index + _AT_ONCE])[1:-1]
        else:
            yield from _write_parts(entries[index])


def _write(value: object) -> bytes:
    return to_json(value, inf_nan_mode="null")
