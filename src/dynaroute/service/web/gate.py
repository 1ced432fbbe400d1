"""The gate of the service: access control, metrics, and headers of every response."""

from __future__ import annotations

import hmac
import time
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dynaroute.service.messages.refusals import RequestError, make_busy_error, make_unavailable_error, to_response
from dynaroute.service.web.origins import Origins
from dynaroute.service.work.service import Service
from dynaroute.service.work.streams import name_client

__all__ = ["Gate"]

# Probes may use any host name.
_PROBES = ("/healthz", "/readyz")
# Probes, and browsers that open the page, cannot send a token, and find no secrets there.
_OPEN_PATHS = ("/", *_PROBES)
_OPEN_FOLDER = "/page/"
_STREAMS = "/events"


class Gate:
    """Wraps the application."""

    def __init__(self, application: ASGIApp, service: Service) -> None:
        self._application = application
        self._service = service
        self._token = service.settings.token
        self._origins = Origins(service.settings.hosts, service.settings.cors_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        begin = time.perf_counter()
        status = HTTPStatus.INTERNAL_SERVER_ERROR.value
        is_head = scope["method"] == "HEAD"
        inner = {**scope, "method": "GET"} if is_head else scope

        async def send_marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._mark(MutableHeaders(scope=message))
                await send(message)
                if is_head:  # no body; a stream would go on
                    await send({"type": "http.response.body", "body": b""})
            elif not is_head:
                await send(message)

        if scope["path"] not in _PROBES:
            await self._service.turns.take()
        self._service.active += 1
        try:
            refusal = self._refuse(scope)
            entrance = self._application if refusal is None else to_response(refusal)
            await entrance(inner, receive, send_marked)
        finally:
            self._service.active -= 1
            route = getattr(inner.get("route"), "path", "unknown")
            self._service.metrics.count_request(_known_method(scope), route, status, time.perf_counter() - begin)

    def _refuse(self, scope: Scope) -> RequestError | None:
        headers = Headers(scope=scope)
        stranger = None if scope["path"] in _PROBES else self._origins.refuse(scope["method"], headers)
        if stranger is not None:
            return stranger
        if not self._may_enter(scope["path"], headers):
            return RequestError(
                HTTPStatus.UNAUTHORIZED,
                "unauthorized",
                "the token is missing or wrong.",
                remedy="Send the header Authorization: Bearer TOKEN.",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if scope["path"] not in _OPEN_PATHS and not self._service.has_room():
            return make_busy_error(1.0, "requests")
        if scope["path"].endswith(_STREAMS) and (busy := self._service.streams.refuse_client(name_client(scope))):
            return busy  # before the application sees it, because there may be thousands
        if self._service.is_stopping and scope["method"] == "POST":
            return make_unavailable_error("stopping", "the service is stopping.")
        return None

    def _may_enter(self, path: str, headers: Headers) -> bool:
        if self._token is None or path in _OPEN_PATHS or path.startswith(_OPEN_FOLDER):
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # in constant time, so that the token cannot be guessed letter by letter
        return hmac.compare_digest(given.encode("latin-1"), self._token.encode()) and scheme.lower() == "bearer"

    def _mark(self, headers: MutableHeaders) -> None:
        headers.setdefault("Cache-Control", "no-store")
        headers.setdefault("X-Content-Type-Options", "nosniff")
        if self._service.is_stopping:
            headers["Connection"] = "close"


def _known_method(scope: Scope) -> str:
    """Return the method if it is a known one, since clients may send anything."""
    return scope["method"] if scope["method"] in ("GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT") else "other"
