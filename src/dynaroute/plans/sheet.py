"""The columns and cells of the list on a driver's sheet, for HTML and PDF."""

from __future__ import annotations

from typing import NamedTuple

from dynaroute.display import show_length
from dynaroute.plans.plan import Plan, Stop
from dynaroute.plans.words import describe_window, show_minute

__all__ = ["SheetColumn", "describe_further", "list_sheet_cells", "list_sheet_columns"]


# other columns of the file that get a column on the sheet
_MOST_COLUMNS, _MOST_BESIDE_TIMES = 4, 2


class SheetColumn(NamedTuple):
    """A column, and whether it contains numbers."""

    heading: str
    is_number: bool


def list_sheet_columns(plan: Plan) -> list[SheetColumn]:
    """List the columns: the place, other columns of the file, times and amounts."""
    texts = [
        "Id",
        *(["Name"] if plan.name_column is not None else []),
        *_own_columns(plan),
    ]
    times = ["Arrival", "Leave"] if plan.has_times else []
    return [
        SheetColumn("Stop", True),
        *(SheetColumn(text, False) for text in texts),
        *([SheetColumn("Window", True)] if plan.instance.windows is not None else []),
        *(SheetColumn(text, True) for text in (*times, "Demand", "Load", "Distance")),
    ]


def list_sheet_cells(plan: Plan, stop: Stop) -> list[str]:
    """List the cells of one stop, or of the depot at the start or end of a route."""
    is_depot = stop.customer == 0
    depot = "Start" if stop.number == 0 else "End"
    return [
        depot if is_depot else str(stop.number),
        stop.id or (stop.name if plan.name_column is None else ""),
        *([stop.name] if plan.name_column is not None else []),
        *(stop.details.get(column, "") for column in _own_columns(plan)),
        *(["" if is_depot else describe_window(plan, stop)] if plan.instance.windows is not None else []),
        *([show_minute(plan, stop.arrival), show_minute(plan, stop.leave)] if plan.has_times else []),
        "" if is_depot else str(stop.demand),
        str(stop.load),
        show_length(stop.distance, plan.instance.unit),
    ]


def describe_further(plan: Plan, stop: Stop) -> str:
    """The other details of a stop, which have no column: a separate line below it."""
    own = _own_columns(plan)
    return "; ".join(f"{column}: {text}" for column, text in stop.details.items() if column not in own)


def _own_columns(plan: Plan) -> tuple[str, ...]:
    """The columns of the file that get a column on the sheet."""
    most = _MOST_BESIDE_TIMES if plan.has_times else _MOST_COLUMNS
    return plan.detail_columns if len(plan.detail_columns) <= most else plan.detail_columns[: most - 1]
