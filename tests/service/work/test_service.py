"""The service before it is ready, and when it fails: in this process, without a port."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import httpx
import pytest
from running_service import INSTANCE
from starlette.types import Message

from dynaroute.base.errors import ModelError
from dynaroute.service.messages.refusals import RequestError
from dynaroute.service.settings import ServiceSettings
from dynaroute.service.web.application import make_application
from dynaroute.service.work.engine import Engine
from dynaroute.service.work.service import Service


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


def test_service_without_models_does_not_promise_to_recover(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Engine) -> None:
        raise ModelError("the weights are damaged.")

    monkeypatch.setattr(Engine, "prepare", fail)

    async def start() -> RequestError:
        service = Service(ServiceSettings())
        service.start()
        try:
            async with asyncio.timeout(60):
                while (refusal := refuse(service)).kind == "starting":
                    await asyncio.sleep(0.001)
        finally:
            await service.stop()
        return refusal

    refusal = asyncio.run(start())

    assert (refusal.status, refusal.kind) == (503, "broken")
    assert "Retry-After" not in refusal.headers


def refuse(service: Service) -> RequestError:
    with pytest.raises(RequestError) as caught:
        service.refuse_unready()
    return caught.value


@pytest.mark.parametrize(("customers", "is_given_up"), [(1, False), (3, True)])
def test_what_is_solved_by_itself_is_given_up_with_its_client(
    monkeypatch: pytest.MonkeyPatch, customers: int, is_given_up: bool
) -> None:
    service = Service(ServiceSettings(batch_work=16))  # so that a request for one or two customers is small
    given_up: list[bool] = []

    async def solve(*_: object) -> None:
        try:
            await asyncio.sleep(0.1)
            given_up.append(False)
        except asyncio.CancelledError:
            given_up.append(True)
            raise

    monkeypatch.setattr(service, "refuse_unready", lambda: None)
    monkeypatch.setattr(service, "solve", solve)
    body = json.dumps({**INSTANCE, "customers": INSTANCE["customers"][:customers]}).encode()

    asyncio.run(send_and_leave(service, "/v1/solve", body))

    assert given_up == [is_given_up]


async def send_and_leave(service: Service, path: str, body: bytes) -> None:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        await asyncio.sleep(0)
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def send(_: Message) -> None:
        pass

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }
    with suppress(Exception):  # what becomes of the answer is nobody's concern
        await make_application(service)(scope, receive, send)


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
