"""A small server that answers as OSRM and Valhalla do."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from dynaroute.problem.lengths import great_circle

__all__ = ["FakeRoads", "serve_roads"]

SPEED = 10.0


@dataclass
class FakeRoads:
    """What the server does: it allows `most` places, fails `failures` times first, and knows no way at `island`."""

    url: str = ""
    most: int = 100
    failures: int = 0
    code: int = 503
    island: float | None = None
    body: bytes | None = None
    requests: list[str] = field(default_factory=list)

    def answer(self, path: str, body: Any) -> tuple[int, bytes]:
        self.requests.append(path)
        if self.failures:
            self.failures -= 1
            return self.code, b'{"message": "busy"}'
        if self.body is not None:
            return 200, self.body
        parts = urlsplit(path)
        if parts.path.startswith("/table/"):
            return self._table(parts.path, parse_qs(parts.query))
        if parts.path.startswith("/route/v1"):
            places = self._places(parts.path)
            legs = [
                {"steps": [{"geometry": {"coordinates": [[a[1], a[0]], middle(a, b)[::-1], [b[1], b[0]]]}}]}
                for a, b in itertools.pairwise(places)
            ]
            return 200, json.dumps({"code": "Ok", "routes": [{"legs": legs}]}).encode()
        if parts.path == "/sources_to_targets":
            return self._valhalla(body)
        if parts.path == "/route":
            stops = [(place["lat"], place["lon"]) for place in body["locations"]]
            shapes = [{"shape": encode([a, middle(a, b), b])} for a, b in itertools.pairwise(stops)]
            return 200, json.dumps({"trip": {"legs": shapes}}).encode()
        return 404, b"not here"

    def _places(self, path: str) -> list[list[float]]:
        return [[float(number) for number in pair.split(",")][::-1] for pair in path.split("/")[-1].split(";")]

    def _measure(self, sources: Any, targets: Any) -> list[list[float | None]]:
        metres = 1.5 * great_circle(np.array(sources)[:, None, :], np.array(targets)[None, :, :])
        return [
            [None if self.island in (a[0], b[0]) and a != b else value for b, value in zip(targets, row, strict=True)]
            for a, row in zip(sources, metres.tolist(), strict=True)
        ]

    def _table(self, path: str, query: dict[str, list[str]]) -> tuple[int, bytes]:
        places = self._places(path)
        if len(places) > self.most:
            return 400, b'{"code": "TooBig", "message": "Too many table coordinates"}'
        ends = [[places[int(index)] for index in query[key][0].split(";")] for key in ("sources", "destinations")]
        metres = self._measure(*ends)
        seconds = [[None if value is None else value / SPEED for value in row] for row in metres]
        points = [{"location": place[::-1]} for place in ends[0]]
        return 200, json.dumps({"code": "Ok", "distances": metres, "durations": seconds, "sources": points}).encode()

    def _valhalla(self, body: Any) -> tuple[int, bytes]:
        sources, targets = ([[place["lat"], place["lon"]] for place in body[key]] for key in ("sources", "targets"))
        if len(sources) + len(targets) > self.most:
            return 400, b'{"error_code": 150, "error": "Exceeded max locations: 20"}'
        legs = [
            [
                {"distance": None if value is None else value / 1000, "time": None if value is None else value / SPEED}
                for value in row
            ]
            for row in self._measure(sources, targets)
        ]
        return 200, json.dumps({"sources_to_targets": legs, "units": "kilometers"}).encode()


def middle(a: Any, b: Any) -> list[float]:
    """A point beside the middle of a leg."""
    return [round((a[0] + b[0]) / 2 + 0.001, 6), round((a[1] + b[1]) / 2, 6)]


def encode(line: Any) -> str:
    """Valhalla's way to write a line."""
    text, last = "", [0, 0]
    for place in line:
        numbers = [round(number * 1e6) for number in place]
        for now, before in zip(numbers, last, strict=True):
            value = (now - before) << 1
            value = ~value if now < before else value
            while value >= 32:
                text += chr((32 | (value & 31)) + 63)
                value >>= 5
            text += chr(value + 63)
        last = numbers
    return text


@contextmanager
def serve_roads(**what: Any) -> Iterator[FakeRoads]:
    """Run the server for a test."""
    fake = FakeRoads(**what)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(None)

        def do_POST(self) -> None:
            self.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def reply(self, body: Any) -> None:
            code, content = fake.answer(self.path, body)
            self.send_response(code)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
