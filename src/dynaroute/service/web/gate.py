"""The gate of the service: access control, who may ask from where, metrics, and headers of every response."""

from __future__ import annotations

import hmac
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dynaroute.base.errors import Where
from dynaroute.service.messages.refusals import RequestError, make_busy_error, make_unavailable_error, to_response
from dynaroute.service.settings import PREFIX
from dynaroute.service.work.service import Service
from dynaroute.service.work.streams import name_client

# Probes may use any host name.
_PROBES = ("/healthz", "/readyz")
# Probes, and browsers that open the page, cannot send a token, and find no secrets there.
_OPEN_PATHS = ("/", *_PROBES)
_OPEN_FOLDER = "/page/"
_STREAMS = "/events"
_ANY = "*"
_REMEMBERED = 64  # cached names and addresses; nearly all requests have the same
_FOREIGN_SITES = ("cross-site", "same-site")  # values of Sec-Fetch-Site


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


@dataclass(frozen=True)
class Origins:
    """Distinguishes requests of our own pages and of programs from those of other pages.

    Attributes
    ----------
    hosts
        Our names, in addition to those that nobody else can have.
    pages
        Origins of other allowed pages.
    """

    hosts: Sequence[str] = ()
    pages: Sequence[str] = ()

    def refuse(self, method: str, headers: Headers) -> RequestError | None:
        """Return why a request is refused; None if it is allowed."""
        host = headers.get("host")
        if host is not None and not self._is_ours(_name_in(host)):
            return _refuse(
                "host",
                "this service is not known by the name in the Host header.",
                "Host",
                f"Use its address, or ask its operator to add the name to {PREFIX}HOSTS.",
            )
        if not self._may_ask(method, headers, host):
            return _refuse(
                "origin",
                "pages of this origin may not use the service.",
                "Origin",
                f"Open the page of the service, or ask its operator to add the origin to {PREFIX}CORS_ORIGINS.",
            )
        return None

    def _is_ours(self, name: str | None) -> bool:
        if name is None:
            return False
        # Numeric addresses cannot be redirected, and names without a dot belong to this machine or network.
        is_near = _is_address(name) or "." not in name or name.endswith(".localhost")
        return is_near or _ANY in self.hosts or self._is_named(name)

    def _is_named(self, name: str | None) -> bool:
        return name is not None and name in map(str.lower, self.hosts)

    def _may_ask(self, method: str, headers: Headers, host: str | None) -> bool:
        origin = headers.get("origin")
        if origin is None:
            # programs send neither header; browsers send at least one with requests that change something
            return method in ("GET", "HEAD") or headers.get("sec-fetch-site") not in _FOREIGN_SITES
        if _ANY in self.pages or origin in self.pages:
            return True
        authority = origin.partition("://")[2].lower()
        # a proxy may use another protocol and name
        return bool(authority) and (authority == (host or "").lower() or self._is_named(_name_in(authority)))


@lru_cache(_REMEMBERED)
def _name_in(authority: str) -> str | None:
    """Return the host of an authority, without the port; None if there is none."""
    if set(authority) & set("/?#@\\ "):
        return None
    try:
        parts = urlsplit(f"//{authority}")
        _ = parts.port
    except ValueError:
        return None
    return (parts.hostname or "").rstrip(".") or None


@lru_cache(_REMEMBERED)
def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _refuse(code: str, message: str, field: str, remedy: str) -> RequestError:
    return RequestError(HTTPStatus.FORBIDDEN, code, message, where=Where(field=field), remedy=remedy)
