"""Matrices and ways from servers, which are small ones of our own."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from road_servers import serve_roads

from dynaroute.base.errors import DynarouteError
from dynaroute.problem.instance import Instance
from dynaroute.problem.lengths import great_circle
from dynaroute.problem.solution import Solution
from dynaroute.roads.servers import RoadServer
from dynaroute.roads.source import find_ways, use_roads

Kind = Literal["osrm", "valhalla"]
KINDS: list[Kind] = ["osrm", "valhalla"]


def make_instance(count: int) -> Instance:
    places = np.array([[53 + 0.01 * number, 10 + 0.02 * (number % 7)] for number in range(count)])
    names = tuple(f"K{number}" for number in range(1, count))
    return Instance(places, np.array([0, *[1] * (count - 1)]), 5, metric="great_circle", customer_names=names)


def ask(kind: Kind, url: str, pauses: list[float] | None = None) -> RoadServer:
    return RoadServer(kind, url, timeout=5, sleep=(pauses if pauses is not None else []).append)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("count", "most"), [(4, 100), (70, 100), (9, 5)])
def test_all_legs_are_measured_in_as_many_blocks_as_the_server_needs(kind: Kind, count: int, most: int) -> None:
    with serve_roads(most=most) as fake:
        instance = use_roads(make_instance(count), ask(kind, fake.url))

    assert instance.coordinates is not None and instance.distances is not None and instance.durations is not None
    straight = great_circle(instance.coordinates[:, None, :], instance.coordinates[None, :, :])
    assert np.allclose(instance.distances, 1.5 * straight, atol=1)
    assert np.allclose(instance.durations, instance.distances / 10)
    assert instance.unit == "m"
    assert (len(fake.requests) > 1) == (count > 50 or most < count)


@pytest.mark.parametrize("kind", KINDS)
def test_ways_follow_the_roads_of_the_server(kind: Kind) -> None:
    instance = make_instance(3)
    with serve_roads() as fake:
        ways = find_ways(instance, Solution(((1, 2),)), ask(kind, fake.url))

    assert list(ways) == [(0, 1), (1, 2), (2, 0)]
    assert np.allclose(ways[0, 1], [(53, 10), (53.006, 10.01), (53.01, 10.02)])


def test_a_route_of_many_stops_is_traced_in_parts() -> None:
    with serve_roads() as fake:
        lines = ask("osrm", fake.url).trace(make_instance(60).coordinates)  # type: ignore[arg-type]

    assert (len(lines), len(fake.requests)) == (59, 3)


def test_a_busy_server_is_asked_again_after_longer_and_longer_pauses() -> None:
    pauses: list[float] = []
    with serve_roads(failures=2) as fake:
        use_roads(make_instance(3), ask("osrm", fake.url, pauses))

    assert pauses == [1.0, 2.0]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"failures": 9}, "503 Service Unavailable, also after 4 tries"),
        ({"failures": 1, "code": 403}, "answered 403"),
        ({"body": b"<html>"}, "not JSON"),
        ({"body": b"[]"}, "not an object"),
        ({"body": b'{"a": 1}'}, "not a matrix"),
        ({"body": b'{"code": "Ok", "distances": [[0]]}'}, "lacks distances or durations"),
        ({"body": b'{"code": "NoTable", "message": "oh"}'}, "NoTable"),
        ({"island": 53.02}, "no way from the depot to customer 2 (K2)"),
    ],
)
def test_a_server_that_does_not_help_is_named_with_what_it_said(what: dict[str, object], words: str) -> None:
    with serve_roads(**what) as fake, pytest.raises(DynarouteError) as refusal:
        use_roads(make_instance(4), ask("osrm", fake.url))

    assert words in str(refusal.value)
    assert refusal.value.remedy


def test_a_server_that_is_not_there_is_said() -> None:
    with pytest.raises(DynarouteError, match="cannot be reached"):
        use_roads(make_instance(3), ask("valhalla", "http://127.0.0.1:9"))


@pytest.mark.parametrize("url", ["localhost:5000", "file:///etc/passwd", "ftp://host", ""])
def test_only_addresses_of_the_web_are_asked(url: str) -> None:
    with pytest.raises(DynarouteError, match="not the address"):
        RoadServer("osrm", url)


def test_plane_positions_have_no_roads() -> None:
    with serve_roads() as fake, pytest.raises(DynarouteError, match="latitude and longitude"):
        use_roads(Instance(np.zeros((2, 2)), np.array([0, 1]), 5), ask("osrm", fake.url))
