"""The columns and cells of the lists on sheets, for HTML and PDF: stops, and customers that are not served."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from dynaroute.base.display import show_length
from dynaroute.plans.files.languages import say
from dynaroute.plans.files.words import describe_window, show_minute
from dynaroute.plans.plan import Plan, PlannedRoute, PlannedStop, UnservedStop

# other columns of the file that get a column on the sheet
_MOST_COLUMNS, _MOST_BESIDE_TIMES = 4, 2


class SheetColumn(NamedTuple):
    """A column, and whether it contains numbers."""

    heading: str
    is_number: bool


def list_sheet_columns(plan: Plan) -> list[SheetColumn]:
    """List the columns: the place, other columns of the file, times and amounts."""
    times = ["Arrival", "Leave"] if plan.has_times else []
    amounts = (SheetColumn(text, True) for text in (*times, "Demand", "On board", "Distance"))
    columns = [SheetColumn("Stop", True), *_list_place_columns(plan), *amounts]
    own = _own_columns(plan)
    return [
        column if column.heading in own else column._replace(heading=say(plan, column.heading)) for column in columns
    ]


def list_sheet_rows(plan: Plan, route: PlannedRoute) -> list[tuple[list[str], PlannedStop | None]]:
    """List the rows of a route, each with its stop: the depot, customers, reloads, and breaks, which have no stop."""
    rows: list[tuple[list[str], PlannedStop | None]] = []
    for position, stop in enumerate(route.places):
        rows.append((_list_cells(plan, stop, route.load - stop.load), stop))
        rows += [(_list_break_cells(plan, *times), None) for *times, after in route.breaks if after == position]
    return rows


def _list_break_cells(plan: Plan, start: float, end: float) -> list[str]:
    """List the cells of a break."""
    cells = {"Stop": say(plan, "Break"), "Arrival": show_minute(plan, start), "Leave": show_minute(plan, end)}
    told = {say(plan, heading): cell for heading, cell in cells.items()}
    return [told.get(column.heading, "") for column in list_sheet_columns(plan)]


def _list_cells(plan: Plan, stop: PlannedStop, remaining: int | Decimal) -> list[str]:
    """List the cells of one stop, or of the depot at the start or end of a route, with what is left on board."""
    is_depot = not stop.is_customer
    depot = say(plan, "Start" if stop.number == 0 else "Reload" if stop.is_reload else "End")
    return [
        depot if is_depot else str(stop.number),
        *_list_place_cells(plan, stop),
        *([show_minute(plan, stop.arrival), show_minute(plan, stop.leave)] if plan.has_times else []),
        "" if is_depot else _describe_amount(plan, stop),
        stop.on_board or str(remaining),
        show_length(stop.distance, plan.instance.unit),
    ]


def _describe_amount(plan: Plan, stop: PlannedStop) -> str:
    """What a customer gets, and what is collected there."""
    return f"{stop.delivered}, {say(plan, 'pickup {}', stop.pickup)}" if stop.pickup else stop.delivered


def list_unserved_columns(plan: Plan) -> list[SheetColumn]:
    """List the columns of customers that are not served: the place, the amount and the reason."""
    return [*_list_place_columns(plan), SheetColumn("Demand", True), SheetColumn("Why it is not served", False)]


def list_unserved_cells(plan: Plan, left_out: UnservedStop) -> list[str]:
    """List the cells of one customer that is not served."""
    return [*_list_place_cells(plan, left_out.stop), _describe_amount(plan, left_out.stop), left_out.reason]


def _list_place_columns(plan: Plan) -> list[SheetColumn]:
    name = ["Name"] if plan.name_column is not None else []
    window = [SheetColumn("Window", True)] if plan.instance.windows is not None else []
    return [*(SheetColumn(text, False) for text in ("Id", *name, *_own_columns(plan))), *window]


def _list_place_cells(plan: Plan, stop: PlannedStop) -> list[str]:
    return [
        stop.id or (stop.name if plan.name_column is None else ""),
        *([stop.name] if plan.name_column is not None else []),
        *(stop.details.get(column, "") for column in _own_columns(plan)),
        *([describe_window(plan, stop) if stop.is_customer else ""] if plan.instance.windows is not None else []),
    ]


def describe_further(plan: Plan, stop: PlannedStop) -> str:
    """The other details of a stop, which have no column: a separate line below it."""
    own = _own_columns(plan)
    return "; ".join(f"{column}: {text}" for column, text in stop.details.items() if column not in own)


def _own_columns(plan: Plan) -> tuple[str, ...]:
    """The columns of the file that get a column on the sheet."""
    most = _MOST_BESIDE_TIMES if plan.has_times else _MOST_COLUMNS
    return plan.detail_columns if len(plan.detail_columns) <= most else plan.detail_columns[: most - 1]
