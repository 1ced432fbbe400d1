from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from policies import draw_batch

from dynaroute.base.errors import OptionError
from dynaroute.batch import InstanceBatch
from dynaroute.construct import SGBS, Augmented, Beam, Greedy, MultiStart, Sampling
from dynaroute.construct.choose import StartAt
from dynaroute.construct.strategies import SYMMETRIES, reflect
from dynaroute.problem.instance import Instance


def first_customers(instance: Instance, starts: int) -> list[int]:
    batch = InstanceBatch.from_instances([instance]).repeat_each(starts)
    chooser = MultiStart(starts).chooser(batch, torch.arange(starts), 0)
    assert isinstance(chooser, StartAt)
    return chooser.customers.tolist()


LINE = Instance(np.array([[0, 0], [3, 0], [1, 0], [2, 0], [0, 1]]), np.array([0, 1, 1, 1, 1]), 2)


def test_starts_are_the_customers_nearest_to_the_depot_the_lower_number_first() -> None:
    assert first_customers(LINE, 4) == [2, 4, 3, 1]


def test_starts_are_used_again_where_customers_are_few() -> None:
    assert first_customers(LINE, 6) == [2, 4, 3, 1, 2, 4]


def test_padding_is_no_start() -> None:
    batch = draw_batch(2, 9)[torch.tensor([0])].repeat_each(5)
    chooser = MultiStart(5).chooser(batch, torch.arange(5), 0)
    assert isinstance(chooser, StartAt)
    assert set(chooser.customers.tolist()) == {1, 2}


def test_the_symmetries_are_eight_and_the_first_changes_nothing() -> None:
    place = torch.tensor([[[0.1, 0.3]]], dtype=torch.float64).repeat(SYMMETRIES, 1, 1)
    images = reflect(place, torch.arange(SYMMETRIES))
    assert images[0].tolist() == place[0].tolist()
    assert len({tuple(np.round(image, 9)) for image in images[:, 0].tolist()}) == 8


def test_symmetries_keep_distances_and_the_unit_square() -> None:
    batch = draw_batch(12).repeat_each(SYMMETRIES)
    images = reflect(batch.locations, torch.arange(SYMMETRIES))
    assert torch.allclose(torch.cdist(images, images), torch.cdist(batch.locations, batch.locations), atol=1e-9)
    assert float(images.min()) >= 0
    assert float(images.max()) <= 1


def test_each_orientation_of_each_attempt_has_a_stream_of_its_own_and_the_plain_one_keeps_it() -> None:
    attempts = torch.arange(2 * SYMMETRIES)
    batch = draw_batch(5).repeat_each(len(attempts))
    placed = Augmented(Sampling(2)).place(batch, attempts)
    assert len(set(placed.keys.tolist())) == SYMMETRIES
    assert placed.keys[attempts % SYMMETRIES == 0].tolist() == batch.keys[:2].tolist()
    assert torch.equal(placed.coordinates, batch.coordinates)


def test_attempts_are_counted() -> None:
    counts = [strategy.attempts for strategy in (Greedy(), Sampling(5), MultiStart(7), Augmented(Sampling(5)))]
    assert counts == [1, 5, 7, 40]


@pytest.mark.parametrize("count", [0, -1, 1.5, "3", None])
@pytest.mark.parametrize("kind", [Sampling, MultiStart, Beam, SGBS, SGBS.of])
def test_a_number_of_attempts_that_is_none_is_refused(kind: Callable[[Any], Any], count: Any) -> None:
    with pytest.raises(OptionError) as caught:
        kind(count)
    assert caught.value.remedy


@pytest.mark.parametrize("temperature", [0, -1.0, float("nan"), float("inf"), 1e-40, 1e39, "hot", None])
def test_a_temperature_at_which_nothing_can_be_drawn_is_refused(temperature: Any) -> None:
    with pytest.raises(OptionError) as caught:
        Sampling(1, temperature)
    assert caught.value.where.field == "temperature"
    assert caught.value.remedy
