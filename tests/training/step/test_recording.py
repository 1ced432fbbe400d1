from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import astuple, fields, replace
from typing import Any

import pytest
import torch
from policies import SMALL_AM, SMALL_AMD, make_policy

from dynaroute.model.changes import ModelWarning
from dynaroute.training.ranks import Ranks
from dynaroute.training.replay.layout import ReplaySize, RouteStarts, WholeSize
from dynaroute.training.step.instances import TrainingTask
from dynaroute.training.step.optimiser import AdamOptimiser
from dynaroute.training.step.recording import ByLength, ByRoutes, GraphedUpdate, choose_recording
from dynaroute.training.step.reinforce import PolicyUpdate, Replay, sample_solutions
from dynaroute.training.step.update_input import UpdateInput

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
        update = GraphedUpdate(plain, ByRoutes()) if is_recorded else plain
        given = UpdateInput(copies, sample_solutions(policy, copies, 2, 1), torch.linspace(-1, 1, 8), 2)
        if is_recorded:
            with pytest.warns(ModelWarning, match="not permitted"):
                update(given)
        else:
            update(given)
        update(given)
        found.append(torch.cat([parameter.detach().flatten() for parameter in policy.parameters()]))
    torch.testing.assert_close(*found)


class Rehearsal:
    """A recording for a CPU: it does its work again, and overwrites the tensors of an earlier result."""

    def __init__(self, work: Callable[[], Any], result: Any) -> None:
        self._work, self._result = work, result

    def replay(self) -> None:
        for mine, theirs in zip(
            list_tensors(self._result), list_tensors(self._work()), strict=self._result is not None
        ):
            mine.copy_(theirs)

    def pool(self) -> None:
        return None


def list_tensors(result: Any) -> list[torch.Tensor]:
    if isinstance(result, RouteStarts):
        values = (getattr(result, field.name) for field in fields(result))
        return [value for value in values if value is not None]
    if isinstance(result, tuple):
        return [tensor for part in result for tensor in list_tensors(part)]
    return [] if result is None else [result]


def rehearse(work: Callable[[], Any], *pool: Any) -> tuple[Rehearsal, Any]:
    result = None if pool else work()  # nothing may be learned while a step is recorded
    return Rehearsal(work, result), result


@pytest.mark.parametrize("sizing", [ByRoutes(), ByLength()])
def test_recorded_steps_lead_where_plain_ones_do(sizing: ByRoutes | ByLength, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for is_recorded in (True, False):
        policy = make_policy(SMALL_AM if isinstance(sizing, ByLength) else SMALL_AMD).double().train()
        optimiser = AdamOptimiser(list(policy.parameters()), torch.tensor(1e-2))
        replay = Replay(policy, torch.float64, has_one_size=True)
        plain = PolicyUpdate(replay, optimiser, Ranks())
        update = GraphedUpdate(plain, sizing) if is_recorded else plain
        with monkeypatch.context() as patch:
            patch.setattr("dynaroute.training.step.recording.record", rehearse)
            for seed in range(4):
                copies = TrainingTask(5, (20,)).draw(4, torch.Generator().manual_seed(seed), 0).repeat_each(2)
                routes = sample_solutions(policy, copies, 2, seed)
                update(UpdateInput(copies, routes, torch.linspace(-1, 1, 8).double(), 2))
        found.append(torch.cat([parameter.detach().flatten() for parameter in policy.parameters()]))
    torch.testing.assert_close(*found)


def test_a_few_lengths_serve_all_steps() -> None:
    sizing = ByLength()
    assert {sizing.choose(WholeSize(steps), 64, []) for steps in range(21, 29)} == {WholeSize(24), WholeSize(28)}
