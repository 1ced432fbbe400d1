"""The web page: a folder of plain files, and nothing else."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from dynaroute.service.refusals import RequestError

__all__ = ["make_page_router"]

FOLDER = Path(__file__).parent / "page"
CONTENT_POLICY = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'"


@dataclass(frozen=True)
class _PageFile:
    """A file as it is sent."""

    content: bytes
    media_type: str
    tag: str


def make_page_router() -> APIRouter:
    """Serve the files of the page, index.html at ``/`` and all under ``/page/``."""
    files = {
        path.relative_to(FOLDER).as_posix(): _load(path)
        for path in sorted(FOLDER.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def get_page(request: Request) -> Response:
        return _send(files.get("index.html"), request)

    @router.get("/page/{name:path}")
    async def get_page_file(name: str, request: Request) -> Response:
        return _send(files.get(name), request)

    return router


def _load(path: Path) -> _PageFile:
    content = path.read_bytes()
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return _PageFile(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:16]}"')


def _send(file: _PageFile | None, request: Request) -> Response:
    if file is None:
        raise RequestError(HTTPStatus.NOT_FOUND, "not_found", "there is no such file.", remedy="The page is at /.")
    # no-cache: browsers may keep the file, but ask whether it is still the same
    headers = {"Cache-Control": "no-cache", "ETag": file.tag, "Content-Security-Policy": CONTENT_POLICY}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)
