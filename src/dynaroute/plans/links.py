"""Addresses that open a route in a map service; what is opened there, that service gets to know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from dynaroute.plans.plan import Plan, PlannedRoute

__all__ = ["SERVICES", "MapService", "list_links"]

Place = tuple[float, float]


@dataclass(frozen=True)
class MapService:
    """A map service that shows the way through some places.

    Attributes
    ----------
    name
        What people call it.
    most_places
        How many places one address may hold, start and end included.
    make_address
        Makes it.
    """

    name: str
    most_places: int
    make_address: Callable[[Sequence[Place]], str]


def _google(places: Sequence[Place]) -> str:
    origin, *between, destination = map(_written, places)
    query = {"api": "1", "travelmode": "driving", "origin": origin, "destination": destination}
    if between:
        query["waypoints"] = "|".join(between)
    return f"https://www.google.com/maps/dir/?{urlencode(query)}"


def _open_street_map(places: Sequence[Place]) -> str:
    query = {"engine": "fossgis_osrm_car", "route": ";".join(map(_written, places))}
    return f"https://www.openstreetmap.org/directions?{urlencode(query, safe=',;')}"


def _written(place: Place) -> str:
    return f"{place[0]:.6f},{place[1]:.6f}"


# Google's addresses take nine places between start and end, OpenStreetMap's page a start and an end.
SERVICES = (MapService("Google Maps", 11, _google), MapService("OpenStreetMap", 2, _open_street_map))


def list_links(plan: Plan, route: PlannedRoute, service: MapService) -> list[tuple[int, int, str]]:
    """Addresses that show a route from depot to depot, in as many parts as the service needs.

    Parameters
    ----------
    plan
        With places in degrees.
    route
        One of its routes.
    service
        Who shows it.

    Returns
    -------
    list[tuple[int, int, str]]
        First and last stop, 0 being the depot before the first, and the address between them. Each part begins where
        the one before ends.
    """
    places = [plan.place(stop) for stop in route.places]
    step = service.most_places - 1
    return [
        (first, min(first + step, len(places) - 1), service.make_address(places[first : first + step + 1]))
        for first in range(0, len(places) - 1, step)
    ]
