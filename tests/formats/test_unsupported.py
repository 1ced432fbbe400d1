from __future__ import annotations

import pytest

from dynaroute.formats.unsupported import is_unsupported


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
def test_a_limit_is_unsupported(field: str) -> None:
    assert is_unsupported(field)


@pytest.mark.parametrize("field", ["AUTHOR", "BEST_KNOWN", "BEST_DISTANCE", "optimal_routes", "timestamp", "colour"])
def test_a_description_does_not(field: str) -> None:
    assert not is_unsupported(field)
