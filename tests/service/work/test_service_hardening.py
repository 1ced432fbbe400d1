"""What an attack found, each by its number in issue 15; the parts have tests of their own beside this file."""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from policies import draw_instances
from running_service import INSTANCE, RunningService, receive_raw, request_head, running_service, send_raw

from dynaroute.formats import instance_from_json, instance_to_json
from dynaroute.problem.solution import Solution, check

pytest_plugins = ("service_fixtures",)

JSON = {"Content-Type": "application/json"}
BODY = json.dumps(INSTANCE).encode()
HUNDRED = instance_to_json(draw_instances(100, capacity=50)[0])
THOUSAND = instance_to_json(draw_instances(1_000, capacity=50)[0])
LARGE = 7_800_000  # bytes
SOON = 8.0  # seconds; what is refused took 15 to 35 before


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with small limits."""
    limits = {"answer_seconds": 1, "connections": 60, "client_streams": 3, "solve_seconds": 1, "search_workers": 2}
    with running_service(tmp_path_factory.mktemp("tight"), **limits) as running:
        yield running
        assert "Traceback" not in running.log.read_text()


def ask_for_check(client: httpx.Client, instance: dict[str, Any], routes: bytes) -> httpx.Response:
    content = b'{"instance": %s, "solution": {"routes": [%s]}}' % (json.dumps(instance).encode(), routes)
    return client.post("/v1/check", content=content, headers=JSON)


def assert_refused(answer: httpx.Response, status: int, code: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text[:500]
    assert len(answer.content) < 2_000


# 1: amplification


@pytest.mark.parametrize(
    ("routes", "status", "code"),
    [
        (b"[1, 1, 1, 1]", 422, "solution"),
        (b"[%s1]" % (b"1," * (LARGE // 2)), 413, "too_large"),
        (b"%s[1]" % (b"[1]," * (LARGE // 4 - 200)), 413, "too_large"),
        (b"%s[]" % (b"[]," * 20_000), 413, "too_large"),
        (b"[%s]" % (b"9" * 4_000), 422, "solution"),
    ],
    ids=["long route", "one endless route", "many routes", "empty routes", "huge number"],
)
def test_15_1_solutions_far_larger_than_the_problem_are_refused(
    client: httpx.Client, routes: bytes, status: int, code: str
) -> None:
    begin = time.monotonic()

    assert_refused(ask_for_check(client, INSTANCE, routes), status, code)

    assert time.monotonic() - begin < SOON


def test_15_1_violations_beyond_a_thousand_are_counted(client: httpx.Client) -> None:
    route = b"[%s]" % b",".join([b"1"] * 1_000)

    answer = ask_for_check(client, THOUSAND, b",".join([route] * 9)).json()

    assert len(answer["violations"]) == 1_000
    assert answer["left_out"] == 8_999 + 9 + 999 - 1_000  # repeated, overloads, missing


# 2: answers that nobody reads


def test_15_2_answer_that_is_not_read_is_given_up(tight: RunningService) -> None:
    route = [1] * 1_000
    body = json.dumps({"instance": THOUSAND, "solution": {"routes": [route] * 9}}).encode()
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.connect(("127.0.0.1", tight.port))
        deaf.settimeout(0.5)  # more than the system holds for the two is not even read
        with suppress(TimeoutError):
            send_raw(deaf, (request_head("/v1/check", f"Content-Length: {len(body)}") + body) * 100)
        errors = select.poll()
        errors.register(deaf, 0)

        assert errors.poll(60 * 1_000), "the connection is still there"


# 3: parsing


def many_keys() -> bytes:
    keys = {f"key{number}": 1 for number in range(500)}
    return json.dumps({**HUNDRED, "customers": [{"x": 1, "y": 1, "demand": 1, **keys}] * 900}).encode()


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"# capacity: 10\nx,y,demand\n" + b"1,1,1\n" * (LARGE // 6), "text/csv"),
        (many_keys(), "application/json"),
        (b"EDGE_WEIGHT_SECTION\n" + b"1\n" * (LARGE // 2), "text/plain"),
        (b"A" + b" " * LARGE + b"B\n", "text/plain"),
    ],
    ids=["rows", "keys", "numbers", "a line for a slow pattern"],
)
def test_15_3_what_is_far_too_much_is_refused_while_it_is_counted(
    service: RunningService, content: bytes, media_type: str
) -> None:
    with service.client(headers={"Content-Type": media_type}) as client:
        begin = time.monotonic()
        assert_refused(client.post("/v1/solve", content=content), 413, "too_large")
        assert time.monotonic() - begin < SOON


def test_15_3_nobody_waits_behind_large_bodies(service: RunningService) -> None:
    content = b"# capacity: 10\nx,y,demand\n" + b"1,1,1\n" * (LARGE // 6)

    def send() -> None:
        with service.client(headers={"Content-Type": "text/csv"}) as client:
            client.post("/v1/convert", content=content)

    senders = [threading.Thread(target=send) for _ in range(7)]
    for sender in senders:
        sender.start()
    with service.client() as client:
        begin = time.monotonic()
        assert client.post("/v1/convert", json=INSTANCE).status_code == 200
        assert client.post("/v1/convert", json=THOUSAND).status_code == 200
        assert time.monotonic() - begin < SOON
    for sender in senders:
        sender.join()


# 4: connections


def test_15_4_longest_idle_connection_makes_room(tight: RunningService) -> None:
    with ExitStack() as stack, tight.client() as client:
        idle = [stack.enter_context(tight.connect()) for _ in range(100)]
        assert client.get("/healthz").status_code == 200
        idle[0].settimeout(3.0)

        assert idle[0].recv(1) == b""

        send_raw(idle[-1], request_head("/v1/solve", f"Content-Length: {len(BODY)}") + BODY)
        assert receive_raw(idle[-1])[0] == 200
    assert tight.log.read_text().count("connections") == 1


# 5: streams of events


def follow(service: RunningService, path: str, *headers: str) -> socket.socket:
    connection = service.connect()
    send_raw(connection, "\r\n".join([f"GET {path}/events HTTP/1.1", "Host: localhost", *headers, "", ""]).encode())
    return connection


def test_15_5_streams_have_a_share_and_hold_up_nobody(tight: RunningService) -> None:
    with ExitStack() as stack, tight.client() as client:
        path = client.post("/v1/jobs?time_limit=60", json=HUNDRED).headers["Location"]
        listeners = [stack.enter_context(follow(tight, path)) for _ in range(40)]

        statuses = Counter(listener.recv(12)[9:] for listener in listeners)

        assert statuses == {b"200": 3, b"429": 37}
        assert client.post("/v1/solve", json=INSTANCE).status_code == 200
        client.delete(path)


def test_15_5_last_event_id_is_honoured(client: httpx.Client) -> None:
    path = client.post("/v1/jobs?time_limit=0.1", json=INSTANCE).headers["Location"]
    first = client.get(f"{path}/events").text
    numbers = [line.removeprefix("id: ") for line in first.splitlines() if line.startswith("id")]

    again = client.get(f"{path}/events", headers={"Last-Event-ID": numbers[-2]})
    after_the_end = client.get(f"{path}/events", headers={"Last-Event-ID": numbers[-1]})

    assert [line for line in again.text.splitlines() if line.startswith("event")] == ["event: end"]
    assert (after_the_end.status_code, after_the_end.content) == (204, b"")


# 6: jobs


@pytest.mark.parametrize("part", ["name", "id"])
def test_15_6_names_of_megabytes_are_refused(client: httpx.Client, part: str) -> None:
    name = "x" * 7_000_000
    customers = [{**INSTANCE["customers"][0], "id": name if part == "id" else "a"}]

    answer = client.post("/v1/jobs", json={**INSTANCE, "name": name if part == "name" else "", "customers": customers})

    assert_refused(answer, 413, "too_large")


def test_15_6_jobs_outlive_the_service(tmp_path: Path) -> None:
    settings = {"jobs_folder": tmp_path / "jobs", "search_workers": 2}
    with running_service(tmp_path, **settings) as service, service.client() as client:
        ended = client.post("/v1/jobs?time_limit=0.1", json=INSTANCE).headers["Location"]
        client.get(f"{ended}/events")
        finished = client.get(ended).json()
        running = client.post("/v1/jobs?time_limit=120&model=amd-100", json=HUNDRED).headers["Location"]
        deleted = client.post("/v1/jobs?time_limit=120", json=HUNDRED).headers["Location"]
        client.delete(deleted)
        while (before := client.get(running).json())["best"] is None:
            time.sleep(0.1)
        time.sleep(2.5)  # what was found within the last second may be lost
        service.process.kill()
        service.process.wait()

    with running_service(tmp_path, **settings) as service, service.client() as client:
        assert client.get(ended).json() == finished
        assert client.get(deleted).status_code == 404
        while client.get(running).json()["state"] == "queued":
            time.sleep(0.05)
        after = client.delete(running).json()
        service.terminate()
        assert service.wait() == 0
        assert service.log.read_text() == ""

    assert (before["state"], after["state"]) == ("running", "stopped")
    assert after["improvements"] >= before["improvements"]
    assert after["result"]["cost"] <= before["best"]["cost"]
    assert before["seconds"] < after["seconds"] < 60.0
    routes = Solution(tuple(map(tuple, after["result"]["routes"])), after["result"]["cost"])
    assert check(instance_from_json(HUNDRED), routes) == []


# 7: the rest


def test_15_7_samples_of_thousands_of_digits_are_422(client: httpx.Client) -> None:
    options = b'{"decode": "sample", "augment": true, "samples": %s}' % (b"9" * 4_300)

    answer = client.post("/v1/solve", content=BODY[:-1] + b', "options": ' + options + b"}", headers=JSON)

    assert_refused(answer, 422, "option")


def test_15_7_building_ends_with_the_time_of_a_request(tight: RunningService) -> None:
    with tight.client() as client:
        answer = client.post("/v1/solve?decode=sample&samples=16&model=amd-100", json=THOUSAND).json()

    assert answer["is_interrupted"]
    assert answer["timing"]["solved"] < 20
    assert any("longer than the 1 s" in message for message in answer["messages"])
    assert check(instance_from_json(THOUSAND), Solution(tuple(map(tuple, answer["routes"])), answer["cost"])) == []


def test_15_7_who_comes_while_it_stops_is_answered_or_refused(tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    request = request_head("/v1/solve", f"Content-Length: {len(BODY)}", "Connection: close") + BODY

    def ask(service: RunningService) -> str:
        try:
            connection = service.connect()
        except OSError:
            return "refused"
        try:
            with connection:
                connection.sendall(request)
                return str(receive_raw(connection)[0])
        except (OSError, AssertionError) as error:
            return repr(error)

    def keep_asking(service: RunningService) -> None:
        while outcomes["refused"] < 50:
            outcomes[ask(service)] += 1

    with running_service(tmp_path) as service:
        clients = [threading.Thread(target=keep_asking, args=(service,)) for _ in range(8)]
        for client in clients:
            client.start()
        time.sleep(0.3)
        service.terminate()
        for client in clients:
            client.join()
        assert service.wait() == 0

    assert outcomes.keys() == {"200", "503", "refused"}


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/v1/models", "/openapi.json", "/v1/nothing"])
def test_15_7_head_works_where_get_does(client: httpx.Client, path: str) -> None:
    usual, head = client.get(path), client.head(path)

    assert (head.status_code, head.content) == (usual.status_code, b"")
    assert head.headers["Content-Length"] == usual.headers["Content-Length"]


def test_15_7_head_of_a_stream_ends_at_once(client: httpx.Client) -> None:
    path = client.post("/v1/jobs?time_limit=20", json=HUNDRED).headers["Location"]

    assert client.head(f"{path}/events").headers["Content-Type"].startswith("text/event-stream")

    client.delete(path)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:8000"},
    ],
    ids=str,
)
def test_15_7_strange_pages_are_refused(client: httpx.Client, headers: dict[str, str]) -> None:
    answer = client.post("/v1/solve", content=b"NAME : a\n", headers={"Content-Type": "text/plain", **headers})

    assert_refused(answer, 403, "host" if "Host" in headers else "origin")


def test_15_7_own_page_and_programs_are_served(service: RunningService) -> None:
    for headers in ({}, {"Origin": service.address}, {"Content-Type": "application/json; charset=utf-8"}):
        with service.client(headers=headers) as client:
            assert client.post("/v1/solve", json=INSTANCE).status_code == 200
