from __future__ import annotations

import random
from dataclasses import astuple, replace

import pytest
import torch
from policies import SMALL_AM, make_policy

from dynaroute.model.changes import ModelWarning
from dynaroute.training.instances import TrainingTask
from dynaroute.training.optimiser import AdamOptimiser
from dynaroute.training.ranks import Ranks
from dynaroute.training.recording import GraphedUpdate, choose_recording
from dynaroute.training.reinforce import PolicyUpdate, Replay, UpdateInput, sample_solutions
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


def test_steps_that_cannot_be_recorded_are_taken_plainly_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr("torch.cuda.CUDAGraph", refuse)
    copies = TrainingTask(5, (20,)).draw(4, torch.Generator().manual_seed(1), 0).repeat_each(2)
    found = []
    for is_recorded in (True, False):
        policy = make_policy(SMALL_AM).train()
        optimiser = AdamOptimiser(list(policy.parameters()), torch.tensor(1e-2))
        plain = PolicyUpdate(Replay(policy, torch.float32), optimiser, Ranks())
        update = GraphedUpdate(plain) if is_recorded else plain
        given = UpdateInput(copies, sample_solutions(policy, copies, 2, 1), torch.linspace(-1, 1, 8), 2)
        if is_recorded:
            with pytest.warns(ModelWarning, match="not permitted"):
                update(given)
        else:
            update(given)
        update(given)
        found.append(torch.cat([parameter.detach().flatten() for parameter in policy.parameters()]))
    torch.testing.assert_close(*found)
