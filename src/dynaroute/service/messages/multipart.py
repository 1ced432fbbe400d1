"""Forms with files (multipart/form-data), read in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from dynaroute.service.messages.refusals import RequestError

_MOST_PARTS = 32


@dataclass
class FormField:
    """One field of a form.

    Attributes
    ----------
    name
        Name of the field.
    file_name
        Name of the file without folders; None if it is not a file.
    content
        Its bytes.
    """

    name: str = ""
    file_name: str | None = None
    content: bytearray = field(default_factory=bytearray)


def read_form(body: bytes, content_type: str) -> list[FormField]:
    """Parse a form.

    Raises
    ------
    RequestError
        400 if it is not a form.
    """
    _, parameters = parse_options_header(content_type)
    boundary = parameters.get(b"boundary")
    if not boundary:
        raise _no_form("the boundary of the form is missing.")
    collector = _Collector()
    try:
        parser = MultipartParser(
            boundary,
            {
                "on_part_begin": collector.begin_part,
                "on_header_field": collector.add_header_name,
                "on_header_value": collector.add_header_value,
                "on_header_end": collector.end_header,
                "on_headers_finished": collector.name_part,
                "on_part_data": collector.add_data,
                "on_end": collector.end,
            },
        )
        parser.write(body)
        parser.finalize()
    except FormParserError:
        raise _no_form("this is not a form.") from None
    if not collector.is_complete:
        raise _no_form("the form is cut off.")
    return collector.parts


class _Collector:
    """Collects the parser's events."""

    def __init__(self) -> None:
        self.parts: list[FormField] = []
        self.is_complete = False
        self._header_name = bytearray()
        self._header_value = bytearray()
        self._disposition = b""

    def begin_part(self) -> None:
        if len(self.parts) == _MOST_PARTS:
            raise _no_form(f"the form has more than {_MOST_PARTS} fields.")
        self.parts.append(FormField())
        self._disposition = b""

    def add_header_name(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def add_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def end_header(self) -> None:
        if self._header_name.lower() == b"content-disposition":
            self._disposition = bytes(self._header_value)
        self._header_name.clear()
        self._header_value.clear()

    def name_part(self) -> None:
        _, options = parse_options_header(self._disposition)
        part = self.parts[-1]
        part.name = options.get(b"name", b"").decode("utf-8", "replace")
        if b"filename" in options:
            path = options[b"filename"].decode("utf-8", "replace")
            part.file_name = path.replace("\\", "/").rpartition("/")[2]

    def add_data(self, data: bytes, start: int, end: int) -> None:
        self.parts[-1].content += data[start:end]

    def end(self) -> None:
        self.is_complete = True


def _no_form(message: str) -> RequestError:
    return RequestError(HTTPStatus.BAD_REQUEST, "form", message, remedy="Send multipart/form-data, as curl -F does.")
