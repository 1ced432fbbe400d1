from __future__ import annotations

import random
from dataclasses import astuple, replace

import pytest

from dynaroute.training.recording import choose_recording
from dynaroute.training.replay_layout import ReplaySize

NEEDED = ReplaySize(occurrences=400, routes=160, route_tokens=4200, states=120, state_tokens=2900, longest_route=9)


def need(scale: float) -> ReplaySize:
    return replace(ReplaySize(*(round(scale * count) for count in astuple(NEEDED))), longest_route=9)


def test_a_new_recording_has_room_for_more_than_the_step_needs() -> None:
    size = choose_recording(NEEDED, 64, [])
    assert size.holds(NEEDED)
    assert size.holds(need(1.05))


def test_the_smallest_recording_that_holds_a_step_is_used() -> None:
    small, large = choose_recording(need(1.0), 64, []), choose_recording(need(1.2), 64, [])
    assert choose_recording(NEEDED, 64, [large, small]) == small
    assert choose_recording(need(1.19), 64, [large, small]) == large


@pytest.mark.parametrize("needed", [ReplaySize(8, 8, 16, 8, 16, 1), ReplaySize(20, 12, 70, 10, 64, 3), NEEDED])
@pytest.mark.parametrize("instances", [1, 8, 64, 1024])
def test_a_recording_serves_the_step_that_it_was_made_for(needed: ReplaySize, instances: int) -> None:
    recorded = choose_recording(needed, instances, [])
    assert choose_recording(needed, instances, [recorded]) == recorded


def test_a_recording_that_is_much_too_large_is_not_used() -> None:
    large = choose_recording(need(2.0), 1024, [])
    assert choose_recording(NEEDED, 1024, [large]).state_tokens < large.state_tokens


def test_a_few_recordings_serve_all_steps_of_a_policy() -> None:
    numbers = random.Random(1)
    recorded: list[ReplaySize] = []
    for _ in range(1000):
        counts = (round(numbers.gauss(1.0, 0.06) * count) for count in astuple(NEEDED))
        size = choose_recording(replace(ReplaySize(*counts), longest_route=9), 64, recorded)
        if size not in recorded:
            recorded.append(size)
    assert len(recorded) <= 8
