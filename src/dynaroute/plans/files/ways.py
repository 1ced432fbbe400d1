"""The roads between the stops of a plan, in plan.json."""

from __future__ import annotations

from dynaroute.base.errors import FormatError, Where
from dynaroute.formats.json.document import read_number, require_list, require_object
from dynaroute.problem.instance import Instance
from dynaroute.roads.source import Ways

_DECIMALS = 6  # of a degree: ten centimetres
_LARGEST = (90.0, 180.0)


def list_ways(ways: Ways) -> list[dict[str, object]]:
    """List the road from node to node as objects for JSON."""
    return [
        {"from": start, "to": end, "line": [[round(lat, _DECIMALS), round(lon, _DECIMALS)] for lat, lon in line]}
        for (start, end), line in ways.items()
    ]


def read_ways(values: object, instance: Instance) -> Ways:
    """Read what `list_ways` wrote; nothing if there is none.

    Raises
    ------
    FormatError
        If it is something else.
    """
    ways = Ways()
    for index, value in enumerate(require_list([] if values is None else values, "ways")):
        path = f"ways[{index}]"
        way = require_object(value, path)
        start, end = (_read_node(way.get(key), instance, f"{path}.{key}") for key in ("from", "to"))
        ways[start, end] = [_read_place(place, f"{path}.line") for place in require_list(way.get("line"), path)]
    return ways


def _read_node(value: object, instance: Instance, path: str) -> int:
    if type(value) is not int or not 0 <= value < instance.node_count:
        raise _fault("there is no such stop", path)
    return value


def _read_place(value: object, path: str) -> tuple[float, float]:
    numbers = [float(read_number(number, path)) for number in require_list(value, path)]
    if len(numbers) != 2 or any(abs(number) > most for number, most in zip(numbers, _LARGEST, strict=True)):
        raise _fault("this is no latitude and longitude", path)
    return numbers[0], numbers[1]


def _fault(message: str, path: str) -> FormatError:
    return FormatError(f"{message}.", where=Where(field=path), remedy="Leave out ways: they are only drawn.")
