"""Serving the files of the web page."""

from __future__ import annotations

import hashlib
import json
import mimetypes
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from dynaroute.service.messages.refusals import RequestError
from dynaroute.service.settings import ServiceSettings

FOLDER = Path(__file__).parents[1] / "page"
_CONTENT_POLICY = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'"


@dataclass(frozen=True)
class _PageFile:
    """A file ready to be sent."""

    content: bytes
    media_type: str
    tag: str


def make_page_router(settings: ServiceSettings) -> APIRouter:
    """Serve the files of the page, index.html at ``/`` and all under ``/page/``."""
    policy = make_content_policy(settings.tiles)
    files = {
        path.relative_to(FOLDER).as_posix(): _load(path)
        for path in sorted(FOLDER.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }
    street_map = {"tiles": settings.tiles, "attribution": settings.tiles_attribution}
    files["street_map.json"] = _make_file(json.dumps(street_map).encode(), "application/json")
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def get_page(request: Request) -> Response:
        return _send(files.get("index.html"), request, policy)

    @router.get("/page/{name:path}")
    async def get_page_file(name: str, request: Request) -> Response:
        return _send(files.get(name), request, policy)

    return router


def make_content_policy(tiles: str | None) -> str:
    """Make the content policy: the page may load its own files, and tiles from the street map's server.

    Parameters
    ----------
    tiles
        Address of the tiles, as in the settings.
    """
    if tiles is None:
        return _CONTENT_POLICY
    parts = urlsplit(tiles)
    return f"{_CONTENT_POLICY}; img-src 'self' {parts.scheme}://{parts.netloc}"


def _load(path: Path) -> _PageFile:
    return _make_file(path.read_bytes(), mimetypes.guess_type(path.name)[0] or "application/octet-stream")


def _make_file(content: bytes, media_type: str) -> _PageFile:
    return _PageFile(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:16]}"')


def _send(file: _PageFile | None, request: Request, policy: str) -> Response:
    if file is None:
        raise RequestError(HTTPStatus.NOT_FOUND, "not_found", "there is no such file.", remedy="The page is at /.")
    # no-cache: browsers may keep the file, but must revalidate it
    headers = {"Cache-Control": "no-cache", "ETag": file.tag, "Content-Security-Policy": policy}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)
