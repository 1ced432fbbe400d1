"""Random problems with time windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynaroute.base.errors import OptionError
from dynaroute.draw.fleets import SolomonSettings, draw_solomon_set
from dynaroute.formats.vrplib.solomon import format_solomon, parse_solomon
from dynaroute.problem.impossible import refuse_impossible


@pytest.mark.parametrize("customers", ["uniform", "clustered", "mixed"])
def test_every_customer_can_be_served_in_time(customers: Any) -> None:
    for instance in draw_solomon_set(SolomonSettings(30, customers, width=5), 3, np.random.default_rng(1)):
        refuse_impossible(instance)
        assert instance.size == 30


def test_the_same_seed_draws_the_same() -> None:
    settings = SolomonSettings(10)
    first, second = (draw_solomon_set(settings, 2, np.random.default_rng(5)) for _ in range(2))
    assert first == second


def test_the_share_of_windows_is_that_asked_for() -> None:
    (instance,) = draw_solomon_set(SolomonSettings(400, share=0.25, width=10), 1, np.random.default_rng(0))
    assert instance.windows is not None
    assert 60 < int((instance.windows[1:, 0] > 0).sum()) < 140


def test_it_can_be_written_as_solomon_does() -> None:
    (instance,) = draw_solomon_set(SolomonSettings(10), 1, np.random.default_rng(0))
    assert parse_solomon(format_solomon(instance)) == instance


@pytest.mark.parametrize(
    "settings", [{"share": 2.0}, {"width": 0.0}, {"horizon": 100.0}, {"service": -1.0}, {"capacity": 10}]
)
def test_a_setting_that_makes_no_sense_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(OptionError) as caught:
        SolomonSettings(10, **settings)
    assert caught.value.where.field in settings
