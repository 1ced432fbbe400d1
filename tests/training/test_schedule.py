from __future__ import annotations

import pytest

from dynaroute.errors import OptionError
from dynaroute.training.schedule import Schedule


def test_rate_rises_stays_and_falls() -> None:
    schedule = Schedule(1.0, rise=0.1, fall=0.5)
    assert schedule.rate(0.0) < schedule.rate(0.05) < schedule.rate(0.1)
    assert schedule.rate(0.1) == schedule.rate(0.5) == 1.0
    assert 1.0 > schedule.rate(0.6) > schedule.rate(0.9) > schedule.rate(1.0) > 0


def test_parts_that_exceed_the_whole_are_refused() -> None:
    with pytest.raises(OptionError):
        Schedule(1.0, rise=0.6, fall=0.6)
