"""Recorded steps build the routes of `construct_eagerly`."""

from __future__ import annotations

import pytest
import torch
from policies import draw_batch

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.choose import MostLikely, Sample
from dynaroute.construct.eager import construct_eagerly
from dynaroute.construct.graphs import RecordingError
from dynaroute.construct.noise import make_stream_keys
from dynaroute.construct.recorded import RecordedConstruction, can_record_construction, construct_in_laps
from dynaroute.model import PointerConfig, PointerNetwork, Policy
from dynaroute.model.changes import ModelWarning


def make_pointer() -> PointerNetwork:
    return PointerNetwork(PointerConfig(dimension=8), generator=torch.Generator().manual_seed(3))


def sample(batch: InstanceBatch, seed: int) -> Sample:
    return Sample(make_stream_keys(seed, batch.keys, torch.arange(len(batch)) % 3))


def require_equal(found: RouteBatch, expected: RouteBatch) -> None:
    assert torch.equal(found.route, expected.route)
    assert torch.equal(found.position, expected.position)


def test_laps_of_steps_lead_to_the_same_routes() -> None:
    policy, batch = make_pointer(), draw_batch(1, 5, 12).repeat_each(3)
    require_equal(
        construct_in_laps(policy, batch, sample(batch, 1)), construct_eagerly(policy, batch, sample(batch, 1))
    )


def test_a_repeated_lap_serves_every_batch_and_every_change_of_the_parameters() -> None:
    policy = make_pointer()
    build = RecordedConstruction(policy, record=lambda work: work)
    for seed, sizes in enumerate([(9, 9), (9, 9), (9, 9), (4, 7)]):  # the last has another shape
        batch = draw_batch(*sizes).repeat_each(3)
        require_equal(build(policy, batch, sample(batch, seed)), construct_eagerly(policy, batch, sample(batch, seed)))
        with torch.no_grad():
            for parameter in policy.parameters():
                parameter.mul_(1.5)


def test_the_solutions_of_an_earlier_batch_stay_what_they_were() -> None:
    policy, batch = make_pointer(), draw_batch(9, 9).repeat_each(3)
    build = RecordedConstruction(policy, record=lambda work: work)
    solutions = [build(policy, batch, sample(batch, seed)) for seed in range(3)]
    require_equal(solutions[1], construct_eagerly(policy, batch, sample(batch, 1)))


def test_what_cannot_be_recorded_is_built_plainly_and_told() -> None:
    def refuse(work: object) -> None:
        raise RecordingError("operation not permitted when stream is capturing")

    policy, batch = make_pointer(), draw_batch(6).repeat_each(3)
    build = RecordedConstruction(policy, record=refuse)  # type: ignore[arg-type]
    build(policy, batch, sample(batch, 1))
    with pytest.warns(ModelWarning, match="not permitted"):
        require_equal(build(policy, batch, sample(batch, 2)), construct_eagerly(policy, batch, sample(batch, 2)))
    require_equal(build(policy, batch, MostLikely()), construct_eagerly(policy, batch, MostLikely()))


def test_only_plain_steps_on_a_gpu_are_recorded() -> None:
    assert not can_record_construction(make_pointer())  # on a CPU
    assert not can_record_construction(Policy().to("meta"))  # kernels build its routes
    assert not can_record_construction(make_pointer().to("meta"))
