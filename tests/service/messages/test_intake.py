"""Clients that send too much, too slowly, or something else; meanwhile the others are served."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from running_service import INSTANCE, RunningService, receive_raw, request_head, send_raw
from starlette.requests import Request
from starlette.types import Message

from dynaroute.service.messages.intake import Intake
from dynaroute.service.messages.refusals import RequestError

pytest_plugins = ("service_fixtures",)

BODY = json.dumps(INSTANCE).encode()


def assert_serves(client: httpx.Client) -> None:
    assert client.post("/v1/solve", json=INSTANCE).json()["cost"] == 14


def test_half_sent_body_is_408_and_others_are_served(service: RunningService, client: httpx.Client) -> None:
    connections = [service.connect() for _ in range(20)]
    for connection in connections:
        send_raw(connection, request_head("/v1/solve", f"Content-Length: {len(BODY)}") + BODY[:20])

    assert_serves(client)

    for connection in connections:
        with connection:
            status, headers, answer = receive_raw(connection)
            assert status == 408
            assert headers["connection"] == "close"
            assert answer["code"] == "timeout"
            assert connection.recv(1) == b""  # and the service hangs up


def test_body_that_comes_in_pieces_is_read(service: RunningService) -> None:
    with service.connect() as connection:
        send_raw(connection, request_head("/v1/solve", "Transfer-Encoding: chunked"))
        for index in range(0, len(BODY), 50):
            piece = BODY[index : index + 50]
            send_raw(connection, f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        send_raw(connection, b"0\r\n\r\n")

        status, _, answer = receive_raw(connection)

    assert (status, answer["cost"]) == (200, 14)


def test_announced_hundred_megabytes_are_413_before_they_are_sent(service: RunningService) -> None:
    with service.connect() as connection:
        send_raw(connection, request_head("/v1/solve", "Content-Length: 100000000"))

        status, _, answer = receive_raw(connection)

    assert (status, answer["code"]) == (413, "too_large")


def test_sent_hundred_megabytes_are_413(client: httpx.Client) -> None:
    answer = client.post("/v1/solve", content=b" " * 100_000_000, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert_serves(client)


def test_unannounced_hundred_megabytes_are_413_when_the_limit_is_passed(
    service: RunningService, client: httpx.Client
) -> None:
    piece = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    with service.connect() as connection:
        send_raw(connection, request_head("/v1/solve", "Transfer-Encoding: chunked"))
        for _ in range(100):
            send_raw(connection, piece)

        status, _, answer = receive_raw(connection)

    assert (status, answer["code"]) == (413, "too_large")
    assert_serves(client)


@pytest.mark.parametrize(
    "content", [b"hello\r\n\r\n", b"GET / HTTP/1.1\r\n: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\r\n\r\n"]
)
def test_what_is_no_http_is_400(service: RunningService, content: bytes) -> None:
    with service.connect() as connection:
        send_raw(connection, content)

        status, _, answer = receive_raw(connection)

    assert (status, answer["code"]) == (400, "http")


@pytest.mark.parametrize("content", [b"", b"POST /v1/solve HT"])
def test_connection_without_a_request_is_closed(service: RunningService, content: bytes) -> None:
    with service.connect() as connection:
        send_raw(connection, content)

        assert connection.recv(1) == b""


def test_client_that_leaves_does_no_harm(service: RunningService, client: httpx.Client) -> None:
    for path in ("/v1/solve", "/v1/solve?time_limit=20", "/v1/check"):
        with service.connect() as connection:
            send_raw(connection, request_head(path, f"Content-Length: {len(BODY)}") + BODY)

    # the search was given up with its client, or this one would have to wait for its thread
    answer = client.post("/v1/solve?time_limit=0.1", json=INSTANCE).json()

    assert answer["timing"]["waited"] < 10


def make_intake(seconds: float) -> Intake:
    return Intake(largest=10, seconds=seconds, most_held=15, read_seconds=60.0, read_bytes=500_000_000)


class Body:
    """A body that arrives when the test says so."""

    def __init__(self) -> None:
        self.pieces: asyncio.Queue[Message] = asyncio.Queue()
        self.request = Request({"type": "http", "headers": []}, self.pieces.get)

    def send(self, piece: bytes, *, more: bool) -> None:
        self.pieces.put_nowait({"type": "http.request", "body": piece, "more_body": more})


def test_too_many_bytes_at_the_same_time_are_429_until_some_are_read() -> None:
    async def scenario() -> None:
        intake = make_intake(seconds=60.0)
        first, second, third = Body(), Body(), Body()
        first.send(b"1234567890", more=True)
        reading = asyncio.create_task(intake.take(first.request, len))
        await asyncio.sleep(0)
        second.send(b"1234567890", more=True)
        with pytest.raises(RequestError) as caught:
            await intake.take(second.request, len)
        assert caught.value.status == 429
        first.send(b"", more=False)
        assert await reading == 10
        third.send(b"1234567890", more=False)
        assert await intake.take(third.request, len) == 10

    asyncio.run(scenario())


def test_hurry_ends_the_wait_for_a_body() -> None:
    async def scenario() -> None:
        intake = make_intake(seconds=3600.0)
        body = Body()
        reading = asyncio.create_task(intake.take(body.request, len))
        await asyncio.sleep(0)
        intake.shorten_deadlines(0.001)
        with pytest.raises(RequestError) as caught:
            await reading
        assert caught.value.status == 408

    asyncio.run(scenario())


def test_hurry_leaves_bodies_alone_that_have_arrived() -> None:
    async def scenario() -> None:
        intake = make_intake(seconds=3600.0)
        body = Body()
        body.send(b"12345678901", more=False)
        with pytest.raises(RequestError) as caught:  # whose traceback keeps alive what waited for the body
            await intake.take(body.request, len)
        intake.shorten_deadlines(0.001)
        assert caught.value.status == 413

    asyncio.run(scenario())


def test_failed_parse_holds_nothing() -> None:
    async def scenario() -> None:
        intake = make_intake(seconds=60.0)
        for _ in range(3):
            body = Body()
            body.send(b"1234567890", more=False)
            with pytest.raises(ValueError, match="invalid literal"):
                await intake.take(body.request, lambda content: int(content, 2))

    asyncio.run(scenario())
