"""Estimating the content of a body before spending time and memory on parsing it.

A few kilobytes of text can cause a thousand times as much work. Punctuation and lines are counted, so the estimate may
be slightly too high (a colon in a name), but never too low.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from dynaroute.base.errors import OptionError, SolutionError
from dynaroute.formats.tables.cells.workbook import find_excess
from dynaroute.problem.instance import Instance
from dynaroute.roads.servers import RoadServer
from dynaroute.roads.source import use_roads
from dynaroute.service.messages.refusals import RequestError, make_large_error

_PARTS_PER_CUSTOMER = 64  # keys, objects or cells per customer; far more than needed
_FEW_LISTS = 250_000  # always allowed, whatever the size of instances
_LINES_PER_CUSTOMER = 8  # allows for sections, comments, empty lines and addresses of several lines
_MOST_DIFFERENT_KEYS = 256
_LONGEST_LINE = 100_000  # characters per line of a table
_LARGEST_RIM, _BYTES_PER_ROW = 2_000_000, 4_000  # unpacked bytes of a workbook: styles and so on, and XML per row
_LONGEST_TITLE = 1_000  # characters of a line in a .vrp file that does not start with a number
_LARGEST_STOP = 2**31

_LINE_END = re.compile(r"\r\n?|\n")
_WORD = re.compile(r"\S+")
_LONG_TITLE = re.compile(rf"^[ \t]*[^\W\d][^\r\n]{{{_LONGEST_TITLE}}}", re.MULTILINE)
_DIMENSION = re.compile(r"^[ \t]*DIMENSION[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class ReadingLimits:
    """Limits on the content of a body.

    Attributes
    ----------
    customers
        Largest instance.
    stops
        Most stops of a solution, and most routes.
    vehicle_types
        Most types of vehicles of an instance.
    name_length
        Longest name, in characters.
    roads
        The operator's routing server, if any.
    """

    customers: int
    stops: int
    vehicle_types: int
    name_length: int
    roads: RoadServer | None = None

    def measure(self, instance: Instance) -> Instance:
        """Return an instance in degrees with the distances and times of the operator's server, if there is one."""
        if self.roads is None or instance.metric != "great_circle" or instance.distances is not None:
            return instance
        try:
            return use_roads(instance, self.roads)
        except OptionError as error:  # which names the server; clients need not know it
            raise RequestError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "unavailable",
                "the routing server of this service gives no distances.",
                remedy="Try again later, or send distances and durations.",
            ) from error

    def refuse_large_json(self, body: bytes) -> None:
        """Raise if JSON is too large for an allowed instance or solution."""
        parts = _PARTS_PER_CUSTOMER * (self.customers + 1)
        numbers = 2 * (self.customers + 1) ** 2 + self.stops + parts  # distances and durations
        for sign, what, most in (
            (b"{", "objects", parts),
            (b":", "keys", parts),
            (b"[", "lists", max(_FEW_LISTS, self.customers + self.stops + parts)),
            (b",", "values", numbers),
        ):
            if body.count(sign) > most:
                raise make_large_error(f"there are more than {most} {what}.")

    def refuse_large_table(self, text: str) -> None:
        """Raise if a CSV file has far more lines or cells than the largest instance."""
        self._refuse_lines(text, "customers")
        if max(map(len, _LINE_END.split(text))) > _LONGEST_LINE:
            raise make_large_error(f"a line has more than {_LONGEST_LINE} characters.")
        most = _PARTS_PER_CUSTOMER * (self.customers + 2)
        if sum(map(text.count, ",;\t")) > most:
            raise make_large_error(f"there are more than {most} cells.")

    def refuse_large_workbook(self, content: bytes) -> None:
        """Raise if a workbook would unpack to far more than the largest instance needs, or than its own size."""
        if (excess := find_excess(content, _LARGEST_RIM + _BYTES_PER_ROW * self.customers)) is not None:
            raise make_large_error(excess)

    def refuse_large_vrp(self, text: str) -> None:
        """Raise if a .vrp file has far more content than the largest instance."""
        if dimension := _DIMENSION.search(text):
            self.refuse_customers(int(dimension[1]) - 1, "DIMENSION")
        if _LONG_TITLE.search(text):
            raise make_large_error(f"a line has more than {_LONGEST_TITLE} characters.")
        if "EDGE_WEIGHT_SECTION" not in text.upper():
            self._refuse_lines(text, "DIMENSION")
        most = (self.customers + 1) ** 2 + _PARTS_PER_CUSTOMER * (self.customers + 2)
        if _has_more(_WORD, text, most):
            raise make_large_error(f"there are more than {most} numbers and words.")

    def refuse_customers(self, count: int, field: str = "customers") -> None:
        """Raise if there are too many customers."""
        if count > self.customers:
            message = f"there are {count} customers; this service takes up to {self.customers}."
            raise make_large_error(message, field)

    def refuse_large_document(self, document: Mapping[str, object]) -> None:
        """Check the size of an instance in JSON before parsing it."""
        customers, vehicles = document.get("customers"), document.get("vehicles")
        if isinstance(vehicles, list):
            self._refuse_vehicle_types(len(vehicles))
        if isinstance(customers, list):
            self.refuse_customers(len(customers))
        keys: set[str] = set(document)
        self._refuse_long_name(document.get("name"), "name")
        for items, what, name in ((customers, "customers", "id"), (vehicles, "vehicles", "name")):
            for index, item in enumerate(items if isinstance(items, list) else ()):
                if isinstance(item, dict):
                    keys.update(item)
                    self._refuse_long_name(item.get(name), f"{what}[{index}].{name}")
        if len(keys) > _MOST_DIFFERENT_KEYS:
            raise make_large_error(
                f"there are {len(keys)} different keys, more than the limit of {_MOST_DIFFERENT_KEYS}."
            )

    def refuse_large_solution(self, solution: Any, customers: int) -> None:
        """Check the size of a solution in JSON before parsing it."""
        routes = solution.get("routes") if isinstance(solution, dict) else None
        if not isinstance(routes, list):
            return
        if len(routes) > self.stops:
            raise make_large_error(f"there are {len(routes)} routes, more than the limit of {self.stops}.", "routes")
        lengths = [len(route) if isinstance(route, list) else 0 for route in routes]
        for index, length in enumerate(lengths):
            if length > customers:
                raise SolutionError.about(
                    f"routes[{index}]",
                    f"route {index + 1} has {length} stops, but there are {customers} customers.",
                    "Visit each customer once.",
                )
        if sum(lengths) > self.stops:
            raise make_large_error(f"there are {sum(lengths)} stops, more than the limit of {self.stops}.", "routes")
        for index, route in enumerate(routes):
            if isinstance(route, list) and any(type(stop) is int and abs(stop) > _LARGEST_STOP for stop in route):
                raise SolutionError.about(
                    f"routes[{index}]",
                    "a stop is far larger than any customer number.",
                    "Write customer numbers, from 1.",
                )

    def refuse_large_instance(self, instance: Instance) -> None:
        """Check an instance that was read from a text or a table."""
        self.refuse_customers(instance.size)
        self._refuse_vehicle_types(len(instance.fleet))
        self._refuse_long_name(instance.name, "name")
        for index, name in enumerate(instance.customer_names or ()):
            self._refuse_long_name(name, f"customers[{index}].id")
        for index, vehicle in enumerate(instance.fleet):
            self._refuse_long_name(vehicle.name, f"vehicles[{index}].name")

    def _refuse_vehicle_types(self, count: int) -> None:
        if count > self.vehicle_types:
            message = f"there are {count} types of vehicles; this service takes up to {self.vehicle_types}."
            raise make_large_error(message, "vehicles")

    def _refuse_long_name(self, name: object, field: str) -> None:
        if isinstance(name, str) and len(name) > self.name_length:
            raise make_large_error(
                f"the name has {len(name)} characters, more than the limit of {self.name_length}.", field
            )

    def _refuse_lines(self, text: str, field: str) -> None:
        most = _LINES_PER_CUSTOMER * (self.customers + 16)
        if _has_more(_LINE_END, text, most):
            message = f"there are more than {most} lines; this service takes up to {self.customers} customers."
            raise make_large_error(message, field)


def _has_more(pattern: re.Pattern[str], text: str, most: int) -> bool:
    """Whether a pattern occurs more than `most` times."""
    return any(count > most for count, _ in enumerate(pattern.finditer(text), start=1))
