"""Stopping: everybody who was let in gets an answer, and the exit code is 0."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from policies import draw_instances
from running_service import INSTANCE, RunningService, receive_raw, request_head, running_service, send_raw

from dynaroute.formats import instance_from_json, instance_to_json
from dynaroute.problem.solution import Solution, check

pytest_plugins = ("service_fixtures",)

BIG = instance_to_json(draw_instances(100, capacity=50)[0])


class HurriedClient(threading.Thread):
    """Asks again and again, until it is told that the service stops, or comes too late to be let in."""

    def __init__(self, service: RunningService) -> None:
        super().__init__()
        self.service = service
        self.has_answer = threading.Event()
        self.answers: list[httpx.Response] = []
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            with self.service.client() as client:
                while not self.answers or self.answers[-1].status_code == 200:
                    self.answers.append(client.post("/v1/solve", json=INSTANCE))
                    self.has_answer.set()
        except httpx.ConnectError:  # on a busy machine it may be gone between two requests
            return
        except Exception as error:  # it is the test's to judge
            self.error = error

    def finish(self) -> list[httpx.Response]:
        """Return all answers; what was let in had one."""
        self.join(60)
        assert self.error is None
        return self.answers


def test_all_are_answered_when_it_is_stopped_under_load(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        clients = [HurriedClient(service) for _ in range(16)]
        for client in clients:
            client.start()
        for client in clients:
            assert client.has_answer.wait(60)

        service.terminate()

        told = [answer for client in clients for answer in client.finish() if answer.status_code != 200]
        assert told
        for answer in told:
            assert answer.status_code == 503
            assert answer.json()["code"] == "stopping"
            assert answer.headers["connection"] == "close"
        assert service.wait() == 0
        assert service.log.read_text() == ""


def test_stopping_does_not_wait_for_compiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "empty"))
    with running_service(tmp_path) as service:
        service.terminate()

        assert service.process.wait(timeout=30) == 0  # compiling takes more than a minute
        assert service.log.read_text() == ""


def test_searches_and_jobs_end_with_their_best_when_it_is_stopped(tmp_path: Path) -> None:
    with running_service(tmp_path, search_workers=2, solve_seconds=300) as service, service.client() as client:
        body = json.dumps(BIG).encode()
        with service.connect() as searching, service.connect() as stalling:
            send_raw(stalling, request_head("/v1/solve", "Content-Length: 1000") + b"{")
            send_raw(searching, request_head("/v1/solve?time_limit=300", f"Content-Length: {len(body)}") + body)
            path = client.post("/v1/jobs?time_limit=300", json=BIG).headers["Location"]
            with client.stream("GET", f"{path}/events") as stream:
                events = (line for line in stream.iter_lines() if not line.startswith(":"))
                assert next(events) == "event: improvement"

                service.terminate()

                *_, end, _, data, _ = events
            status, _, answer = receive_raw(searching)
            assert receive_raw(stalling)[0] == 408
        assert end == "event: end"
        job = json.loads(data.removeprefix("data: "))
        assert job["state"] == "stopped"
        for result in (answer, job["result"]):
            assert result["is_interrupted"]
            solution = Solution(tuple(map(tuple, result["routes"])), result["cost"])
            assert check(instance_from_json(BIG), solution) == []
        assert status == 200
        assert service.wait() == 0


def test_full_queues_and_small_limits_are_429_and_413(tmp_path: Path) -> None:
    limits = {"search_workers": 1, "waiting_searches": 1, "jobs": 2, "customers": 3, "body_bytes": 2_000}
    with running_service(tmp_path, **limits) as service, service.client() as client:
        paths = [client.post("/v1/jobs?time_limit=300", json=INSTANCE).headers["Location"] for _ in range(2)]

        full = client.post("/v1/jobs?time_limit=1", json=INSTANCE)

        assert full.status_code == 429
        assert full.json()["code"] == "busy"
        assert 1 <= int(full.headers["Retry-After"]) <= 60
        assert client.post("/v1/solve", json=INSTANCE).status_code == 200  # those who wait have queues of their own
        assert client.post("/v1/solve?time_limit=0.1", json=INSTANCE).status_code == 200
        more = {**INSTANCE, "customers": INSTANCE["customers"] * 2}
        assert client.post("/v1/solve", json=more).status_code == 413
        assert client.post("/v1/check", json={"instance": INSTANCE, "hint": "x" * 2_000}).status_code == 413
        assert client.delete(paths[1]).json()["state"] == "stopped"
        stopped = client.delete(paths[0]).json()
        assert stopped["state"] == "stopped", stopped
        assert stopped["result"]["cost"] == 14
        assert client.post("/v1/jobs?time_limit=0.1", json=INSTANCE).status_code == 202


def test_device_that_is_not_there_ends_it_at_the_start() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "dynaroute", "serve", "--port", "0"],
        env={**os.environ, "OMP_NUM_THREADS": "1", "DYNAROUTE_DEVICE": "nonsense"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert run.returncode == 2
    assert "DYNAROUTE_DEVICE" in run.stderr
    assert "nonsense" in run.stderr
    assert "Traceback" not in run.stderr
    assert run.stdout == ""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(
        tmp_path_factory.mktemp("guarded"), token="open-sesame", cors_origins="https://maps.example"
    ) as service:
        yield service


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer open", "Bearer open-sesame2", "Basic open-sesame"])
def test_without_the_token_there_is_nothing(guarded: RunningService, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    with guarded.client(headers=headers) as client:
        for answer in (client.post("/v1/solve", json=INSTANCE), client.get("/metrics"), client.get("/v1/nothing")):
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
            assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert client.get("/healthz").status_code == 200
        assert client.get("/").status_code == 200


def test_token_opens_the_door(guarded: RunningService) -> None:
    for scheme in ("Bearer", "bearer"):
        with guarded.client(headers={"Authorization": f"{scheme} open-sesame"}) as client:
            assert client.post("/v1/solve", json=INSTANCE).status_code == 200


def test_only_the_named_origin_may_ask_from_a_page(guarded: RunningService, service: RunningService) -> None:
    def ask(server: RunningService, origin: str) -> object:
        headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        with server.client() as client:
            return client.options("/v1/solve", headers=headers).headers.get("access-control-allow-origin")

    assert ask(guarded, "https://maps.example") == "https://maps.example"
    assert ask(guarded, "https://evil.example") is None
    assert ask(service, "https://maps.example") is None
