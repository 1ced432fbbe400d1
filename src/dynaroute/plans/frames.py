"""Plans as DataFrames of pandas, and as maps for notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynaroute.base.errors import UnsupportedError
from dynaroute.plans.files.html import format_html_plan
from dynaroute.plans.files.table import distance_column, list_columns, list_rows, table_distance
from dynaroute.plans.plan import Plan, PlannedRoute
from dynaroute.plotting.style import colour_routes

if TYPE_CHECKING:
    import pandas

_TIMES = ("arrival", "start", "leave")


@dataclass(frozen=True)
class PageMap:
    """A page with a map, which notebooks show.

    Attributes
    ----------
    page
        The HTML.
    """

    page: str

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.page)}" width="100%" height="600" style="border: 0"></iframe>'

    def save(self, path: str) -> None:
        """Write the page to a file."""
        Path(path).write_text(self.page, encoding="utf-8")


def list_stops(plan: Plan) -> pandas.DataFrame:
    """List the stops of a plan: the columns of its table, with times as Timedelta since midnight.

    Raises
    ------
    UnsupportedError
        If pandas is not installed.
    """
    pandas = _import_pandas()
    columns = list_columns(plan)
    frame = pandas.DataFrame(list(list_rows(plan)), columns=columns)
    stops = [left_out.stop for left_out in plan.unserved] + [None] * len(plan.faults)
    stops += [stop for route in plan.routes for stop in route.places]
    for column in _TIMES if plan.has_times else ():
        seconds = [None if stop is None else getattr(stop, column) for stop in stops]
        frame[column] = pandas.to_timedelta(pandas.Series(seconds, dtype=float), unit="s")
    return frame


def list_routes(plan: Plan) -> pandas.DataFrame:
    """List the routes of a plan: vehicle, stops, load, capacity, distance and, if times are known, start and end.

    Raises
    ------
    UnsupportedError
        If pandas is not installed.
    """
    pandas = _import_pandas()
    frame = pandas.DataFrame([_describe(plan, route) for route in plan.routes])
    for column in ("departure", "end") if plan.has_times and plan.routes else ():
        frame[column] = pandas.to_timedelta(frame[column], unit="s")
    return frame


def _describe(plan: Plan, route: PlannedRoute) -> dict[str, Any]:
    last = route.places[-1]
    times = {"departure": route.start.leave, "end": last.leave if route.end is None else last.arrival}
    return {
        "route": route.number,
        "vehicle": route.vehicle,
        "stops": sum(stop.is_customer for stop in route.stops),
        "load": float(route.load),
        "capacity": float(route.capacity),
        distance_column(plan): table_distance(plan, route.length),
        **(times if plan.has_times else {}),
    }


def make_map(plan: Plan) -> Any:
    """Make a map of a plan: folium's if it is installed and places are in degrees, else a page of our own."""
    if find_spec("folium") is None or not plan.has_degrees or not plan.routes:
        return PageMap(format_html_plan(plan))
    import folium

    lines = [plan.follow(route) for route in plan.routes]
    drawn = folium.Map()
    for route, line, colour in zip(plan.routes, lines, colour_routes(plan.instance, plan.solution), strict=True):
        folium.PolyLine(line, color=colour, tooltip=escape(route.called)).add_to(drawn)
        for stop in route.stops:
            label = escape(f"{stop.number}. {stop.label}")
            folium.CircleMarker(plan.place(stop), radius=5, color=colour, tooltip=label).add_to(drawn)
    places = [place for line in lines for place in line]
    drawn.fit_bounds(
        [[min(axis) for axis in zip(*places, strict=True)], [max(axis) for axis in zip(*places, strict=True)]]
    )
    return drawn


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise UnsupportedError(
            "DataFrames need pandas, which is not installed.", remedy="Install it: pip install pandas."
        ) from error
    return pandas
