"""Links that open a route in a map service, which then learns the places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from dynaroute.plans.plan import Plan, PlannedRoute

Place = tuple[float, float]


@dataclass(frozen=True)
class MapService:
    """A map service that shows routes.

    Attributes
    ----------
    name
        Its name.
    most_places
        Most places per link, including start and end.
    make_address
        Makes a link.
    """

    name: str
    most_places: int
    make_address: Callable[[Sequence[Place]], str]


def _google(places: Sequence[Place]) -> str:
    origin, *between, destination = map(_write_place, places)
    query = {"api": "1", "travelmode": "driving", "origin": origin, "destination": destination}
    if between:
        query["waypoints"] = "|".join(between)
    return f"https://www.google.com/maps/dir/?{urlencode(query)}"


def _open_street_map(places: Sequence[Place]) -> str:
    query = {"engine": "fossgis_osrm_car", "route": ";".join(map(_write_place, places))}
    return f"https://www.openstreetmap.org/directions?{urlencode(query, safe=',;')}"


def _write_place(place: Place) -> str:
    return f"{place[0]:.6f},{place[1]:.6f}"


# Google's links take nine places between start and end, OpenStreetMap's only a start and an end.
SERVICES = (MapService("Google Maps", 11, _google), MapService("OpenStreetMap", 2, _open_street_map))


def list_links(plan: Plan, route: PlannedRoute, service: MapService) -> list[tuple[int, int, str]]:
    """List links that show a route from depot to depot, in as many parts as the service needs.

    Returns
    -------
    list[tuple[int, int, str]]
        First stop, last stop and link of each part, where 0 is the depot at the start. Each part starts where the
        previous one ends.
    """
    places = [plan.place(stop) for stop in route.places]
    step = service.most_places - 1
    return [
        (first, min(first + step, len(places) - 1), service.make_address(places[first : first + step + 1]))
        for first in range(0, len(places) - 1, step)
    ]
