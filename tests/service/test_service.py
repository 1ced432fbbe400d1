"""The service before it is ready, and when it fails: in this process, without a port."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from running_service import INSTANCE

from dynaroute.service.application import make_application
from dynaroute.service.service import Service
from dynaroute.service.settings import ServiceSettings


def ask(service: Service, method: str, path: str, **content: Any) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(make_application(service), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            return await client.request(method, path, **content)

    return asyncio.run(send())


@pytest.mark.parametrize(("method", "path"), [("GET", "/readyz"), ("POST", "/v1/solve"), ("POST", "/v1/jobs")])
def test_work_is_503_until_the_models_are_loaded(method: str, path: str) -> None:
    answer = ask(Service(ServiceSettings()), method, path, json=INSTANCE)

    assert (answer.status_code, answer.json()["code"]) == (503, "starting")
    assert int(answer.headers["Retry-After"]) >= 1


def test_other_questions_are_answered_meanwhile() -> None:
    assert ask(Service(ServiceSettings()), "GET", "/healthz").status_code == 200
    assert ask(Service(ServiceSettings()), "POST", "/v1/convert", json=INSTANCE).status_code == 200


def test_failure_tells_nothing_of_the_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError("secret.py")

    service = Service(ServiceSettings())
    monkeypatch.setattr(service, "refuse_unready", fail)

    answer = ask(service, "GET", "/readyz")

    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert "secret" not in answer.text
    assert "Zero" not in answer.text


def test_too_many_requests_at_the_same_time_are_429() -> None:
    service = Service(ServiceSettings(requests=1))
    service.active = 1

    assert ask(service, "GET", "/v1/models").status_code == 429
    assert ask(service, "GET", "/healthz").status_code == 200
