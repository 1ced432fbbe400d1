"""Access control by origin: only requests to our own names, from our own pages or from programs.

Any page open in a browser on this machine or network can send requests here, and a name pointed at this address can
make them look like our own (DNS rebinding). Both are recognised by their headers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from dynaroute.base.errors import Where
from dynaroute.service.messages.refusals import RequestError
from dynaroute.service.settings import PREFIX

__all__ = ["Origins"]

_ANY = "*"
_REMEMBERED = 64  # cached names and addresses; nearly all requests have the same
_FOREIGN_SITES = ("cross-site", "same-site")  # values of Sec-Fetch-Site


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
