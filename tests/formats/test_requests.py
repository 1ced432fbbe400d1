from __future__ import annotations

import pytest

from dynaroute.formats.requests import asks_for_more


@pytest.mark.parametrize(
    "field",
    [
        "DISTANCE",
        "SERVICE_TIME",
        "VEHICLES",
        "NUM_VEHICLES",
        "TRUCKS",
        "vehicleCount",
        "time_windows",
        "timeWindow",
        "max-duration",
        "BACKHAUL",
        "pickup",
        "STANDTIME",
        "depots",
        "metric",
    ],
)
def test_a_limit_asks_for_more(field: str) -> None:
    assert asks_for_more(field)


@pytest.mark.parametrize("field", ["AUTHOR", "BEST_KNOWN", "BEST_DISTANCE", "optimal_routes", "timestamp", "colour"])
def test_a_description_does_not(field: str) -> None:
    assert not asks_for_more(field)
