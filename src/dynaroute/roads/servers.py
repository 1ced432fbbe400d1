"""Matrices and ways from a server of OSRM or Valhalla, asked in blocks, with patience."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import OptionError
from dynaroute.roads.documents import read_osrm, read_valhalla
from dynaroute.roads.matrix import Line, RoadMatrix

Places = NDArray[np.float64]  # latitudes and longitudes
_BLOCK = 50  # sources, and targets, in one request: servers allow 100 places or 2,500 pairs by default
_MOST_WAYPOINTS = 25
_TRIES, _WAIT, _LONGEST_WAIT = 4, 0.5, 30.0
_BUSY = (429, 502, 503, 504)
_MOST_BYTES = 64_000_000
_TOO_LARGE = ("toobig", "too many", "exceed", "too large")


class _TooLargeError(Exception):
    """The server refuses so many places in one request."""


@dataclass(frozen=True)
class RoadServer:
    """A routing server.

    Parameters
    ----------
    kind
        "osrm" or "valhalla".
    url
        Its address, such as http://localhost:5000.
    timeout
        Seconds to wait for each answer.
    sleep
        Waits before another try.

    Raises
    ------
    OptionError
        If the address is none of http or https.
    """

    kind: Literal["osrm", "valhalla"]
    url: str
    timeout: float = 60.0
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            message = f"{self.url!r} is not the address of a server."
            raise self._fault(message, "Write, say, http://localhost:5000.")

    def measure(self, places: Places, names: Sequence[str] = ()) -> RoadMatrix:
        """Ask for all legs between places.

        Raises
        ------
        OptionError
            If the server cannot be reached, refuses, or answers with something else.
        """
        count = len(places)
        distances, durations = np.full((count, count), np.nan), np.full((count, count), np.nan)
        points = np.full((count, 2), np.nan)
        blocks = [np.arange(count)[start : start + _BLOCK] for start in range(0, count, _BLOCK)]
        for sources in blocks:
            for targets in blocks:
                self._fill(places, sources, targets, (distances, durations, points))
        return RoadMatrix(distances, durations, None if np.isnan(points).any() else points)

    def trace(self, places: Places) -> list[Line]:
        """Ask for the way of each leg of a route through places, in order."""
        lines: list[Line] = []
        for start in range(0, len(places) - 1, _MOST_WAYPOINTS - 1):
            part = places[start : start + _MOST_WAYPOINTS]
            try:
                found = self._trace_osrm(part) if self.kind == "osrm" else self._trace_valhalla(part)
            except (KeyError, IndexError, ValueError, TypeError, _TooLargeError) as error:
                raise self._fault("it gave no ways between the stops.", "Is it another kind of server?") from error
            if len(found) != len(part) - 1:
                raise self._fault(f"it gave {len(found)} ways for {len(part) - 1} legs.", "Is it another server?")
            lines += found
        return lines

    def _fill(
        self, places: Places, sources: NDArray[np.intp], targets: NDArray[np.intp], into: tuple[Places, Places, Places]
    ) -> None:
        """Fill the block of these sources and targets; a block that the server finds too large is divided."""
        try:
            block = self._ask_block(places[sources], places[targets])
        except KeyError as error:
            raise self._fault("its answer is not a matrix.", "Is it another kind of server?") from error
        except _TooLargeError as error:
            if max(len(sources), len(targets)) < 2:
                raise self._fault("it refuses even a single leg.", "Raise its limits.") from error
            rows, columns = (np.array_split(part, 2) if len(part) > 1 else [part] for part in (sources, targets))
            for row in rows:
                for column in columns:
                    self._fill(places, row, column, into)
            return
        distances, durations, points = into
        for whole, part in ((distances, block.distances), (durations, block.durations)):
            if part is None or part.shape != (len(sources), len(targets)):
                raise self._fault("its answer lacks distances or durations.", "Is it another kind of server?")
            whole[np.ix_(sources, targets)] = part
        if block.points is not None and len(block.points) == len(sources):
            points[sources] = block.points

    def _ask_block(self, sources: Places, targets: Places) -> RoadMatrix:
        """Ask for one block."""
        if self.kind == "osrm":
            first, second = range(len(sources)), range(len(sources), len(sources) + len(targets))
            ends = f"sources={';'.join(map(str, first))}&destinations={';'.join(map(str, second))}"
            path = f"/table/v1/driving/{_list_places([*sources, *targets])}?annotations=duration,distance&{ends}"
            return read_osrm(self._ask(path))
        body = {"sources": _name_places(sources), "targets": _name_places(targets), "costing": "auto"}
        return read_valhalla(self._ask("/sources_to_targets", body))

    def _trace_osrm(self, places: Places) -> list[Line]:
        path = f"/route/v1/driving/{_list_places(places)}?overview=false&steps=true&geometries=geojson"
        legs = self._ask(path)["routes"][0]["legs"]
        return [[(lat, lon) for step in leg["steps"] for lon, lat in step["geometry"]["coordinates"]] for leg in legs]

    def _trace_valhalla(self, places: Places) -> list[Line]:
        body = {"locations": _name_places(places), "costing": "auto", "directions_type": "none"}
        return [_decode(leg["shape"]) for leg in self._ask("/route", body)["trip"]["legs"]]

    def _ask(self, path: str, body: object = None) -> Any:
        """Send a request, again after a pause while the server is busy, and decode the answer."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "User-Agent": "dynaroute"}
        request = urllib.request.Request(self.url.rstrip("/") + path, data, headers)
        for number in range(1, _TRIES + 1):
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                    content = answer.read(_MOST_BYTES + 1)
                return self._decode(content)
            except urllib.error.HTTPError as error:
                content, wait = error.read(_MOST_BYTES), error.headers.get("Retry-After", "")
                self._refuse(error.code, content)
                told = f"it answered {error.code} {error.reason}"
            except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
                wait, told = "", f"it cannot be reached: {getattr(error, 'reason', error) or type(error).__name__}"
            if number < _TRIES:
                pause = float(wait) if wait.isdecimal() else _WAIT * 2**number
                self.sleep(min(pause, _LONGEST_WAIT))
        raise self._fault(f"{told}, also after {_TRIES} tries.", "Does it run, and is the address right?")

    def _decode(self, content: bytes) -> Any:
        if len(content) > _MOST_BYTES:
            raise self._fault("its answer is too large.", "Is it another kind of server?")
        try:
            document = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._fault("its answer is not JSON.", "Is it another kind of server?") from error
        if not isinstance(document, dict):
            raise self._fault("its answer is not an object.", "Is it another kind of server?")
        return document

    def _refuse(self, code: int, content: bytes) -> None:
        """Raise what a refusal means, unless it is worth another try."""
        text = content.decode("utf-8", errors="replace")
        if (code in (400, 413, 414) and any(word in text.lower() for word in _TOO_LARGE)) or code in (413, 414):
            raise _TooLargeError
        if code not in _BUSY:
            raise self._fault(
                f"it answered {code}: {' '.join(text.split())[:200]}", "Check the positions of the stops."
            )

    def _fault(self, message: str, remedy: str) -> OptionError:
        return OptionError.about(f"--{self.kind}", f"{self.url}: {message}", remedy)


def _list_places(places: Sequence[Sequence[float]] | Places) -> str:
    return ";".join(f"{lon:.6f},{lat:.6f}" for lat, lon in places)


def _name_places(places: Places) -> list[dict[str, float]]:
    return [{"lat": round(float(lat), 6), "lon": round(float(lon), 6)} for lat, lon in places]


def _decode(shape: str) -> Line:
    """Decode Valhalla's lines: differences of millionths of a degree, five bits to a character."""
    numbers, value, shift = [], 0, 0
    for character in shape:
        bits = ord(character) - 63
        value |= (bits & 31) << shift
        shift += 5
        if bits < 32:
            numbers.append(~(value >> 1) if value & 1 else value >> 1)
            value = shift = 0
    places = np.cumsum(np.array(numbers).reshape(-1, 2), axis=0) / 1e6
    return [(float(lat), float(lon)) for lat, lon in places]
