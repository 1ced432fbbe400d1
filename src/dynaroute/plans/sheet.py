"""The list on a driver's sheet: its columns and its cells, which HTML and PDF show alike."""

from __future__ import annotations

from typing import NamedTuple

from dynaroute.display import show_length
from dynaroute.plans.plan import Plan, Stop
from dynaroute.plans.words import describe_window, show_time

__all__ = ["SheetColumn", "list_sheet_cells", "list_sheet_columns"]


_MOST_COLUMNS = 4  # of the file's further ones; what is beyond them shares a column


class SheetColumn(NamedTuple):
    """A column, and whether it holds numbers."""

    heading: str
    is_number: bool


def list_sheet_columns(plan: Plan) -> list[SheetColumn]:
    """The columns: where to, what else the file tells of it, when, and how much."""
    texts = [
        "Id",
        *(["Name"] if plan.name_column is not None else []),
        *_own_columns(plan),
        *(["Further"] if _has_further(plan) else []),
    ]
    times = ["Arrival", "Leave"] if plan.has_times else []
    return [
        SheetColumn("Stop", True),
        *(SheetColumn(text, False) for text in texts),
        *([SheetColumn("Window", False)] if plan.instance.windows is not None else []),
        *(SheetColumn(text, True) for text in (*times, "Demand", "Load", "Distance")),
    ]


def list_sheet_cells(plan: Plan, stop: Stop) -> list[str]:
    """The cells of one stop, or of the depot where a route starts or ends."""
    is_depot = stop.customer == 0
    depot = "Start" if stop.number == 0 else "End"
    return [
        depot if is_depot else str(stop.number),
        stop.id or stop.name,
        *(["" if is_depot else stop.name] if plan.name_column is not None else []),
        *(stop.details.get(column, "") for column in _own_columns(plan)),
        *([_join_further(plan, stop)] if _has_further(plan) else []),
        *([describe_window(plan, stop)] if plan.instance.windows is not None else []),
        *([show_time(plan, stop.arrival), show_time(plan, stop.leave)] if plan.has_times else []),
        "" if is_depot else str(stop.demand),
        str(stop.load),
        show_length(stop.distance, plan.instance.unit),
    ]


def _own_columns(plan: Plan) -> tuple[str, ...]:
    return plan.detail_columns[: _MOST_COLUMNS - 1] if _has_further(plan) else plan.detail_columns


def _has_further(plan: Plan) -> bool:
    return len(plan.detail_columns) > _MOST_COLUMNS


def _join_further(plan: Plan, stop: Stop) -> str:
    own = _own_columns(plan)
    return "; ".join(f"{column}: {text}" for column, text in stop.details.items() if column not in own)
