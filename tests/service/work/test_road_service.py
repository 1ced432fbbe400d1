"""Distances on roads in the service: from the operator's server alone."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from road_servers import serve_roads

from dynaroute.service.settings import ServiceSettings
from dynaroute.service.web.application import make_application
from dynaroute.service.work.service import Service

DAY: dict[str, Any] = {
    "capacity": 10,
    "depot": {"lat": 53.5, "lon": 10.0},
    "customers": [{"lat": 53.51, "lon": 10.0, "demand": 2}, {"lat": 53.52, "lon": 10.01, "demand": 3}],
}


def convert(day: dict[str, Any], **settings: Any) -> httpx.Response:
    async def send() -> httpx.Response:
        service = Service(ServiceSettings(**settings))
        transport = httpx.ASGITransport(make_application(service), raise_app_exceptions=False)
        try:
            async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
                return await client.post("/v1/convert", json=day)
        finally:
            service.intake.stop()

    return asyncio.run(send())


@pytest.mark.parametrize("kind", ["osrm", "valhalla"])
def test_the_operators_server_measures_problems_in_degrees(kind: str) -> None:
    with serve_roads() as fake:
        answer = convert(DAY, **{kind: fake.url})

    assert answer.status_code == 200
    instance = answer.json().get("instance", answer.json())
    assert instance["unit"] == "m" and len(instance["distances"]) == len(instance["durations"]) == 3
    assert fake.requests


def test_a_request_cannot_name_a_server() -> None:
    with serve_roads() as fake:
        answer = convert({**DAY, "osrm": fake.url})

    assert fake.requests == []
    assert "distances" not in answer.json()


def test_a_server_that_fails_is_not_named_to_clients() -> None:
    with serve_roads(body=b"secret") as fake:
        answer = convert(DAY, osrm=fake.url)

    assert answer.status_code == 503
    assert fake.url not in answer.text and "secret" not in answer.text
