"""DataFrames as tables of stops and of vehicles."""

from __future__ import annotations

import datetime

import pandas as pd
import pytest

import dynaroute
from dynaroute.base.errors import DynarouteError, gather_notes

STOPS = pd.DataFrame(
    {
        "id": ["Depot", "A", "B"],
        "lat": [53.5, 53.6, 53.7],
        "lon": [10.0, 10.1, 10.2],
        "demand": [None, 5, 7],
        "window": [None, "8-12", "ab 14 Uhr"],
        "phone": ["", "040 1", None],
    }
)
VANS = pd.DataFrame({"name": ["van"], "count": [2], "capacity": [10]})


def test_a_frame_is_read_like_a_table() -> None:
    with gather_notes():
        instance = dynaroute.read(STOPS, vehicles=VANS, speed="36 km/h")

    assert instance.demands.tolist() == [0, 5, 7]
    assert instance.speed == 10
    assert [(kind.name, kind.count, kind.capacity) for kind in instance.fleet] == [("van", 2, 10)]
    assert instance.windows is not None
    assert instance.windows[1].tolist() == [28800, 43200]
    assert instance.details is not None and instance.details.of(1) == {"phone": "040 1"}


def test_times_and_a_named_index_are_read() -> None:
    frame = STOPS.drop(columns="window").assign(
        von=[None, datetime.time(8), pd.NaT], bis=[None, datetime.time(12), None]
    )
    with gather_notes():
        instance = dynaroute.read(frame.set_index("id"), capacity=20, speed=10.0)

    assert instance.customer_names == ("A", "B")
    assert instance.windows is not None and instance.windows[1].tolist() == [28800, 43200]


@pytest.mark.parametrize(
    ("frame", "options", "words"),
    [
        (STOPS, {}, "capacity is missing"),
        (STOPS.assign(window=[None, "9-5", None]), {"capacity": 20, "speed": 1.0}, "line 3, field window: '9-5'"),
        (STOPS, {"vehicles": 0}, "not a number of vehicles"),
        (STOPS, {"vehicles": 2, "capacity": 20, "speed": "fast"}, "speed"),
        (STOPS, {"sheet": "x", "capacity": 20}, "no sheets"),
        (STOPS.iloc[:0], {"capacity": 20}, "no row below the header"),
    ],
)
def test_a_faulty_frame_is_refused_like_a_table(frame: pd.DataFrame, options: dict[str, object], words: str) -> None:
    with gather_notes(), pytest.raises(DynarouteError) as refusal:
        dynaroute.read(frame, **options)  # type: ignore[arg-type]

    assert words in str(refusal.value)
