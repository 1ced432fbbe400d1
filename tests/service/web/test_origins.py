from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from dynaroute.service.web.gate import Origins

HERE = {"Host": "127.0.0.1:8000"}
BEHIND_A_PROXY = Origins(hosts=("Routes.example.org",), pages=("https://maps.example",))


def judge(origins: Origins, headers: dict[str, str], method: str = "POST") -> str | None:
    refusal = origins.refuse(method, Headers(headers))
    return None if refusal is None else refusal.kind


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:8000", "[::1]", "10.0.0.7", "solver", "a.localhost"]
)
def test_addresses_and_names_of_this_network_are_ours(host: str) -> None:
    assert judge(Origins(), {"Host": host}) is None


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example.", "127.0.0.1.evil.example", "localhost.evil.example:80", "[::1", "a@b.c", ""],
)
def test_names_of_others_are_not(host: str) -> None:
    assert judge(Origins(), {"Host": host}) == "host"


def test_named_hosts_are_ours() -> None:
    assert judge(BEHIND_A_PROXY, {"Host": "routes.example.org:443"}) is None
    assert judge(BEHIND_A_PROXY, {"Host": "other.example.org"}) == "host"
    assert judge(Origins(hosts=("*",)), {"Host": "other.example.org"}) is None


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8000", "https://127.0.0.1:8000", "HTTP://127.0.0.1:8000"])
def test_own_page_may_ask(origin: str) -> None:
    assert judge(Origins(), {**HERE, "Origin": origin}) is None


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://127.0.0.1:9000", "http://localhost:8000", "null", ""]
)
def test_other_pages_may_not(origin: str) -> None:
    assert judge(Origins(), {**HERE, "Origin": origin}) == "origin"


@pytest.mark.parametrize("origin", ["https://maps.example", "https://routes.example.org"])
def test_page_behind_a_proxy_and_named_origins_may_ask(origin: str) -> None:
    assert judge(BEHIND_A_PROXY, {**HERE, "Origin": origin}) is None


def test_form_of_another_page_is_told_without_an_origin() -> None:
    assert judge(Origins(), {**HERE, "Sec-Fetch-Site": "cross-site"}) == "origin"
    assert judge(Origins(), {**HERE, "Sec-Fetch-Site": "same-origin"}) is None
    assert judge(Origins(), {**HERE, "Sec-Fetch-Site": "cross-site"}, "GET") is None  # a link to the page
