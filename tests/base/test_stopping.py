"""When a search ends."""

from __future__ import annotations

import math
import time

import pytest

from dynaroute.base.errors import OptionError
from dynaroute.base.stopping import Stopping


def test_without_a_deadline_there_is_no_end_of_time() -> None:
    assert Stopping().seconds_left == math.inf
    assert not Stopping().is_time_up()


def test_a_deadline_in_the_past_is_up() -> None:
    stopping = Stopping(deadline=time.perf_counter() - 1)
    assert stopping.seconds_left == 0
    assert stopping.is_time_up()


def test_a_deadline_far_ahead_is_not_up() -> None:
    assert not Stopping.after(1000).is_time_up()
    assert 900 < Stopping.after(1000).seconds_left <= 1000


def test_cancelling_ends_the_time() -> None:
    assert Stopping(is_cancelled=lambda: True).is_time_up()
    assert not Stopping(is_cancelled=lambda: False).is_time_up()


def test_a_target_is_reached_by_its_cost_and_below() -> None:
    assert Stopping(target=5.0).is_reached_by(5.0)
    assert not Stopping(target=5.0).is_reached_by(5.1)
    assert not Stopping().is_reached_by(0.0)


def test_a_negative_number_of_iterations_is_refused() -> None:
    with pytest.raises(OptionError, match="-1"):
        Stopping(iterations=-1)
