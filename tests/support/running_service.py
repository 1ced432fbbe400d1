"""The real service as a process of its own on a free port, and clients that speak plainly."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

# Two customers to the east, one to the west: the best routes are (1, 2) and (3), of lengths 12 and 2.
INSTANCE: dict[str, Any] = {
    "name": "small",
    "capacity": 10,
    "depot": {"x": 0, "y": 0},
    "customers": [{"x": 3, "y": 4, "demand": 2}, {"x": 3, "y": 0, "demand": 7}, {"x": -1, "y": 0, "demand": 9}],
    "rounding": "nearest",
}
READY_WITHIN = 120.0  # seconds; PyTorch takes its time on a busy machine


@dataclass(frozen=True)
class RunningService:
    """A service that answers."""

    process: subprocess.Popen[str]
    port: int
    log: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, **settings: Any) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=60.0, **settings)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60.0)

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        return self.process.wait(timeout=60.0)


@contextmanager
def running_service(folder: Path, **settings: object) -> Iterator[RunningService]:
    """A service with other settings than the usual ones, named as in `ServiceSettings`."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment |= {f"DYNAROUTE_{name.upper()}": str(value) for name, value in settings.items()}
    log = folder / "service.log"
    with log.open("w") as errors, _spawn(environment, errors) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Dynaroute listens on "), log.read_text()
        service = RunningService(process, int(line.rpartition(":")[2]), log)
        try:
            _wait_until_ready(service)
            yield service
        finally:
            process.kill()


def send_raw(connection: socket.socket, content: bytes) -> None:
    """Send bytes; a server that has answered and gone already is no fault of the test."""
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(content)


def receive_raw(connection: socket.socket) -> tuple[int, dict[str, str], Any]:
    """Status, headers and JSON of one answer."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _receive(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    while len(body) < int(headers["content-length"]):
        body += _receive(connection)
    return int(lines[0].split()[1]), headers, json.loads(body)


def request_head(path: str, *headers: str) -> bytes:
    """The head of a POST request with a JSON body."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(lines).encode()


def _receive(connection: socket.socket) -> bytes:
    received = connection.recv(65536)
    assert received, "the service closed the connection without a whole answer"
    return received


def _spawn(environment: dict[str, str], errors: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dynaroute", "serve", "--port", "0"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)


def _wait_until_ready(service: RunningService) -> None:
    end = time.monotonic() + READY_WITHIN
    with service.client() as client:
        while client.get("/readyz").status_code != 200:
            assert service.process.poll() is None, service.log.read_text()
            assert time.monotonic() < end, "the service did not get ready"
            time.sleep(0.05)
