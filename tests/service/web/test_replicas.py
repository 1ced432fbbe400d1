"""Two replicas of the real service behind the load balancer of deploy/replicas."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from running_service import INSTANCE, RunningService, running_service

ROOT = Path(__file__).parents[3]
CONFIGURATION = ROOT / "deploy" / "replicas" / "haproxy.cfg"
SOON = 30.0  # seconds
SEARCH = {**INSTANCE, "options": {"time_limit": 20}}

pytestmark = pytest.mark.skipif(shutil.which("haproxy") is None, reason="HAProxy is not installed")


@dataclass(frozen=True)
class Replicas:
    """Both services, and a client of the balancer before them."""

    one: RunningService
    two: RunningService
    client: httpx.Client

    def begin_job(self, replica: str) -> str:
        """Begin jobs until the balancer gives one to this replica."""
        end = time.monotonic() + SOON
        while time.monotonic() < end:
            answer = self.client.post("/v1/jobs", json=SEARCH)
            assert answer.status_code == 202, answer.text
            identifier: str = answer.json()["id"]
            if identifier.startswith(f"{replica}-"):
                return identifier
        raise AssertionError(f"no job went to {replica}")


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    folders = {name: tmp_path_factory.mktemp(name) for name in ("one", "two")}
    with ExitStack() as stack:
        one, two = (
            stack.enter_context(running_service(folder, replica=name, search_workers=8, heartbeat_seconds=0.1))
            for name, folder in folders.items()
        )
        address = stack.enter_context(_balance(one, two))
        yield Replicas(one, two, stack.enter_context(httpx.Client(base_url=address, timeout=SOON)))


@contextmanager
def _balance(one: RunningService, two: RunningService) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    places = {
        "BALANCER_ADDRESS": address,
        "REPLICA_ONE": f"127.0.0.1:{one.port}",
        "REPLICA_TWO": f"127.0.0.1:{two.port}",
    }
    with subprocess.Popen(["haproxy", "-db", "-f", str(CONFIGURATION)], env={**os.environ, **places}) as process:
        try:
            _wait_for(f"http://{address}", 200)
            yield f"http://{address}"
        finally:
            process.kill()


def _wait_for(address: str, status: int) -> None:
    end = time.monotonic() + SOON
    while time.monotonic() < end:
        try:
            if httpx.get(f"{address}/readyz").status_code == status:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"{address} is not ready")


def _is_listening(service: RunningService) -> bool:
    try:
        service.connect().close()
    except OSError:
        return False
    return True


def _read_first_event(client: httpx.Client, job: str) -> str:
    with client.stream("GET", f"/v1/jobs/{job}/events") as stream:
        return next(line for line in stream.iter_lines() if line.startswith("event:"))


@pytest.mark.parametrize("replica", ["one", "two"])
def test_job_is_found_whichever_replica_has_it(replicas: Replicas, replica: str) -> None:
    job = replicas.begin_job(replica)

    for _ in range(4):  # in turns, a balancer that knew nothing of jobs would ask the other one
        answer = replicas.client.get(f"/v1/jobs/{job}")
        assert (answer.status_code, answer.json()["id"]) == (200, job)
    assert _read_first_event(replicas.client, job) == "event: improvement"
    assert replicas.client.delete(f"/v1/jobs/{job}").json()["result"]["cost"] == 14


def test_replica_knows_nothing_of_the_jobs_of_another(replicas: Replicas) -> None:
    job = replicas.begin_job("one")

    with replicas.two.client() as client:
        assert client.get(f"/v1/jobs/{job}").status_code == 404


def test_end_of_a_replica_costs_one_answer_at_most_and_those_about_its_jobs(replicas: Replicas) -> None:
    theirs, ours = replicas.begin_job("two"), replicas.begin_job("one")
    replicas.two.terminate()

    statuses = []
    end = time.monotonic() + SOON
    while _is_listening(replicas.two) and time.monotonic() < end:
        statuses.append(replicas.client.post("/v1/solve", json=INSTANCE).status_code)
    statuses += [replicas.client.post("/v1/solve", json=INSTANCE).status_code for _ in range(10)]

    assert set(statuses) <= {200, 503}
    assert statuses.count(503) <= 1  # whoever is first to find out
    lost = replicas.client.get(f"/v1/jobs/{theirs}")
    assert (lost.status_code, lost.json()["code"]) == (503, "unavailable")
    assert replicas.client.get(f"/v1/jobs/{ours}").status_code == 200
