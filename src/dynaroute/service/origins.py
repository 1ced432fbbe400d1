"""Who may ask: requests to a name that is ours, from pages that are ours.

A page from anywhere, open in a browser on this machine or in this network, can send requests here; a name that its
owner points to this address makes them look like our own (DNS rebinding). Both are told by their headers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from dynaroute.errors import Where
from dynaroute.service.refusals import RequestError
from dynaroute.service.settings import PREFIX

__all__ = ["Origins"]

_ANY = "*"
_REMEMBERED = 64  # names and addresses: nearly all requests have the same
_ALIEN_SITES = ("cross-site", "same-site")  # of Sec-Fetch-Site


@dataclass(frozen=True)
class Origins:
    """Tells requests of our own pages, and of programs, from those of strange pages.

    Attributes
    ----------
    hosts
        Names of ours, beside those that nobody else can have.
    pages
        Origins of other pages that may ask.
    """

    hosts: Sequence[str] = ()
    pages: Sequence[str] = ()

    def refuse(self, method: str, headers: Headers) -> RequestError | None:
        """Why a request is not served; None if it is.

        Parameters
        ----------
        method, headers
            Of the request.
        """
        host = headers.get("host")
        if host is not None and not self._is_ours(_name_in(host)):
            return _refuse(
                "host",
                "this service is not known by the name in Host.",
                "Host",
                f"Use its address, or let who runs it add the name to {PREFIX}HOSTS.",
            )
        if not self._may_ask(method, headers, host):
            return _refuse(
                "origin",
                "pages of this origin may not use the service.",
                "Origin",
                f"Open the page of the service, or let who runs it add the origin to {PREFIX}CORS_ORIGINS.",
            )
        return None

    def _is_ours(self, name: str | None) -> bool:
        if name is None:
            return False
        # Nobody can point a number elsewhere, and names without a dot are of this machine or this network.
        is_near = _is_address(name) or "." not in name or name.endswith(".localhost")
        return is_near or _ANY in self.hosts or self._is_named(name)

    def _is_named(self, name: str | None) -> bool:
        return name is not None and name in map(str.lower, self.hosts)

    def _may_ask(self, method: str, headers: Headers, host: str | None) -> bool:
        origin = headers.get("origin")
        if origin is None:
            # programs send neither header, browsers at least one with what a page may change
            return method in ("GET", "HEAD") or headers.get("sec-fetch-site") not in _ALIEN_SITES
        if _ANY in self.pages or origin in self.pages:
            return True
        authority = origin.partition("://")[2].lower()
        # a proxy may speak another protocol than we do, and may rename us
        return bool(authority) and (authority == (host or "").lower() or self._is_named(_name_in(authority)))


@lru_cache(_REMEMBERED)
def _name_in(authority: str) -> str | None:
    """The name or the address in what stands before a path, without the port; None if there is none."""
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
