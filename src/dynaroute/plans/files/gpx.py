"""Plans as GPX 1.1: a <wpt> for each customer that is not served, and one <rte> per route, with named points."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from dynaroute.plans.files.links import SERVICES, list_links
from dynaroute.plans.files.words import describe_route, describe_stop, describe_unserved, list_warnings
from dynaroute.plans.files.xml_text import add_text, write_xml
from dynaroute.plans.plan import Plan, PlannedRoute, PlannedStop, UnservedStop, require_degrees

_NAMESPACE = "http://www.topografix.com/GPX/1/1"


def format_gpx(plan: Plan) -> str:
    """Write a plan as GPX.

    Raises
    ------
    UnsupportedError
        If its places are not in degrees.
    """
    require_degrees(plan.instance, ".gpx")
    root = Element("gpx", {"xmlns": _NAMESPACE, "version": "1.1", "creator": "Dynaroute"})
    _add_metadata(root, plan)
    for left_out in plan.unserved:
        _add_unserved(root, plan, left_out)
    for route in plan.routes:
        _add_route(root, plan, route)
    return write_xml(root)


def _add_metadata(root: Element, plan: Plan) -> None:
    warnings = list_warnings(plan)
    if not plan.instance.name and not warnings:
        return
    element = SubElement(root, "metadata")
    if plan.instance.name:
        add_text(element, "name", plan.instance.name)
    if warnings:
        add_text(element, "desc", "\n".join(warnings))


def _add_unserved(root: Element, plan: Plan, left_out: UnservedStop) -> None:
    point = SubElement(root, "wpt", _write_place(plan, left_out.stop))
    add_text(point, "name", left_out.stop.label)
    add_text(point, "desc", describe_unserved(plan, left_out))
    add_text(point, "sym", "Flag, Red")
    add_text(point, "type", "not served")


def _add_route(root: Element, plan: Plan, route: PlannedRoute) -> None:
    element = SubElement(root, "rte")  # child elements follow the order of the schema
    add_text(element, "name", route.called)
    add_text(element, "desc", describe_route(plan, route))
    for first, last, address in list_links(plan, route, SERVICES[0]):
        link = SubElement(element, "link", {"href": address})
        add_text(link, "text", f"{SERVICES[0].name}, {first} to {last}")
    add_text(element, "number", str(route.number))
    for stop in route.places:
        _add_point(element, plan, stop)


def _add_point(parent: Element, plan: Plan, stop: PlannedStop) -> None:
    point = SubElement(parent, "rtept", _write_place(plan, stop))
    add_text(point, "name", stop.label)
    if description := describe_stop(plan, stop):
        add_text(point, "desc", description)


def _write_place(plan: Plan, stop: PlannedStop) -> dict[str, str]:
    latitude, longitude = plan.place(stop)
    east = f"{longitude:.7f}"
    if east == "180.0000000":
        east = "-180.0000000"  # the same meridian; the schema requires longitudes below 180
    return {"lat": f"{latitude:.7f}", "lon": east}
