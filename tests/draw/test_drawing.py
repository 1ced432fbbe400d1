from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dynaroute.base.vocabulary import CustomerPositions
from dynaroute.batch import InstanceBatch
from dynaroute.batch.policy_view import locate_in_unit_square
from dynaroute.distributions import XSettings, draw_x_set, usual_capacity
from dynaroute.draw.distribution import BUILT_IN, Distribution, Part
from dynaroute.draw.drawing import fill_unit_square
from dynaroute.training.plan.own_instances import OwnInstancesTask
from dynaroute.training.step.instances import DistributionTask


def draw(count: int, *parts: Part, seed: int = 1) -> InstanceBatch:
    return DistributionTask(Distribution(parts)).draw(count, torch.Generator().manual_seed(seed), first_key=7)


def test_sizes_are_mixed_and_unused_slots_are_empty() -> None:
    batch = draw(300, Part((3, 12)), Part((20, 30), weight=0.5))
    assert batch.nodes == 31
    assert set(batch.sizes.tolist()) == {*range(3, 13), *range(20, 31)}
    is_node = torch.arange(31) <= batch.sizes[:, None]
    assert bool((batch.demands[~is_node] == 0).all())
    assert bool((batch.locations[~is_node] == 0).all())
    assert bool((batch.demands[:, 0] == 0).all())
    assert bool((batch.demands[batch.is_customer] > 0).all())
    assert batch.keys.tolist() == list(range(7, 307))
    assert (batch.demands.dtype, batch.capacity.dtype, batch.sizes.dtype) == (torch.int32, torch.int32, torch.int64)


@pytest.mark.parametrize("seed", range(5))
def test_every_batch_has_as_many_of_a_part_as_its_weight_says(seed: int) -> None:
    batch = draw(40, Part((5, 5), weight=3.0), Part((6, 6), weight=1.0), seed=seed)
    assert int((batch.sizes == 5).sum()) == 30


@pytest.mark.parametrize("seed", range(5))
def test_sizes_are_spread_evenly_over_a_batch(seed: int) -> None:
    batch = draw(60, Part((11, 20), weight=1.0), Part((101, 200), weight=2.0), seed=seed)
    small, large = (batch.sizes[chosen].sort().values for chosen in (batch.sizes <= 20, batch.sizes > 20))
    assert small.tolist() == [size for size in range(11, 21) for _ in range(2)]
    assert large.diff().max() <= 5  # 40 of 100 sizes, 2.5 of them in each interval


def test_parts_are_in_random_order() -> None:
    batches = [draw(40, Part((5, 5)), Part((6, 6)), seed=seed).sizes for seed in range(200)]
    shares = (torch.stack(batches) == 5).double().mean(0)  # (40,)
    assert float(shares.min()) > 0.3
    assert float(shares.max()) < 0.7


def test_the_same_seed_draws_the_same_instances() -> None:
    first, again, other = (draw(20, *BUILT_IN["mixed"].parts, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.locations, again.locations)
    assert torch.equal(first.demands, again.demands)
    assert not torch.equal(first.sizes, other.sizes)


def test_every_instance_has_a_solution() -> None:
    batch = draw(500, *BUILT_IN["mixed"].parts)
    assert bool((batch.demands.amax(1) <= batch.capacity).all())
    assert bool(((batch.locations >= 0) & (batch.locations <= 1)).all())


@pytest.mark.parametrize(("code", "customers"), [("1", "uniform"), ("2", "clustered"), ("3", "mixed")])
def test_instances_are_like_those_of_xml100(shared_data: Path, code: str, customers: CustomerPositions) -> None:
    with (shared_data / "XML100" / "optimum.csv").open() as table:
        kinds = np.array([row["name"].split("_")[1] for row in csv.DictReader(table)])
    with np.load(shared_data / "XML100" / "xml100_half.npz") as arrays:
        # a corner depot; all demands but unit ones, whose capacity is rounded otherwise
        chosen = [kind[0] == "3" and kind[1] == code and kind[2] != "1" for kind in kinds]
        expected = InstanceBatch.from_arrays(
            *(arrays[name][chosen] for name in ("depot", "locs", "demand", "capacity"))
        )
    kind = replace(
        BUILT_IN["x"].parts[0],
        sizes=(100, 100),
        customers=(customers,),
        depots=("corner",),
        demands=("1-10", "5-10", "1-100", "50-100", "quadrant", "many-small"),
        cluster_seeds=(2, 6),
    )
    route_lengths = ((3.0, 5.0), (5.0, 8.0), (8.0, 12.0), (12.0, 16.0), (16.0, 25.0), (25.0, 50.0))
    found = _describe(draw(600, *(replace(kind, route_lengths=limits) for limits in route_lengths)))
    for name, value in _describe(expected).items():
        assert found[name] == pytest.approx(value, rel=0.1), name


def test_files_are_drawn_like_instances_for_training() -> None:
    kind = replace(BUILT_IN["x"].parts[0], sizes=(100, 100), customers=("mixed",), depots=("corner",))
    kind = replace(kind, demands=("many-small",))
    arrays = draw_x_set(XSettings(100, "mixed", "corner", "many-small"), 400, np.random.default_rng(1))
    in_files = InstanceBatch.from_arrays(arrays.depot, arrays.locations, arrays.demands, arrays.capacity)
    expected = _describe(draw(400, kind, seed=2))
    for name, value in _describe(in_files).items():
        assert value == pytest.approx(expected[name], rel=0.1), name


def test_unit_demands_fill_vehicles_of_whole_route_lengths() -> None:
    batch = draw(100, Part((50, 50), demands=("unitary",), route_lengths=(4.9, 4.9)))
    assert set(batch.capacity.tolist()) == {4}
    assert set(batch.demands[:, 1:].flatten().tolist()) == {1}


def test_of_many_small_demands_one_and_a_half_a_route_are_large() -> None:
    batch = draw(400, Part((100, 100), demands=("many-small",), route_lengths=(5.0, 5.0)))
    is_large = batch.demands[:, 1:] >= 50
    assert float(is_large.double().mean()) == pytest.approx(1.5 / 5, abs=0.02)
    assert bool(((batch.demands[:, 1:] <= 10) | is_large).all())


def _describe(batch: InstanceBatch) -> dict[str, float]:
    """What tells distributions apart: demands, route lengths, and how close customers are to each other."""
    places, demands = batch.locations[:, 1:].double(), batch.demands[:, 1:].double()  # (B, n, 2), (B, n)
    apart = torch.cdist(places, places) + 10 * torch.eye(places.shape[1], dtype=torch.float64)
    return {
        "demand": float(demands.mean()),
        "deviation of demands": float(demands.std()) + 1.0,
        "customers a route": float((batch.capacity / demands.mean(1)).mean()),
        "shortest route": float((batch.capacity / demands.mean(1)).quantile(0.25)),
        "to the nearest": float(apart.amin(2).mean()),
        "to the tenth": float(apart.kthvalue(10, dim=2).values.mean()),
        "to the depot": float((places - batch.locations[:, :1].double()).norm(dim=2).mean()),
        "extent": float(places.std(1).mean()),
    }


def test_demands_by_quadrant_are_rich_where_both_axes_agree() -> None:
    batch = draw(50, Part((60, 60), demands=("quadrant",), route_lengths="x"))
    right, upper = (batch.locations[:, 1:] >= 0.5).unbind(2)
    demands = batch.demands[:, 1:]
    assert bool((demands[right == upper] > 50).all())
    assert bool((demands[right != upper] <= 50).all())


def test_depots_stand_where_they_should() -> None:
    for depot, place in (("centre", [0.5, 0.5]), ("corner", [0.0, 0.0])):
        part: dict[str, Any] = {"sizes": (5, 9), "depots": (depot,)}
        assert (draw(10, Part(**part)).locations[:, 0] == torch.tensor(place)).all()
    assert draw(200, Part((5, 9))).locations[:, 0].std() > 0.2


def test_places_on_the_grid_look_as_those_of_a_file_do() -> None:
    batch = draw(40, Part((9, 30), ("clustered",), ("random",), ("1-10",), "x", coordinates="grid"))
    for row, size in enumerate(batch.sizes.tolist()):
        seen = batch.locations[row, : size + 1].double().numpy()
        assert np.ptp(seen, axis=0).max() == pytest.approx(1.0)
        assert seen.min(axis=0) == pytest.approx(0.0)


def test_filling_the_square_is_what_the_policy_sees_of_a_file() -> None:
    places = torch.rand(6, 8, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64) * 700 + 20
    everywhere = torch.ones(6, 8, dtype=torch.bool)
    assert fill_unit_square(places, everywhere).numpy() == pytest.approx(locate_in_unit_square(places.numpy()))
    everything_at_once = torch.full((1, 4, 2), 0.3)
    assert bool((fill_unit_square(everything_at_once, everywhere[:1, :4]) == 0).all())


def test_the_paper_part_has_the_field_s_capacities() -> None:
    batch = draw(100, Part((10, 300)))
    assert batch.capacity.tolist() == [usual_capacity(size) for size in batch.sizes.tolist()]
    assert set(batch.demands[batch.is_customer].tolist()) == set(range(1, 10))


def test_capacities_are_those_that_are_listed() -> None:
    assert set(draw(60, Part((5, 9), capacities=(20, 35))).capacity.tolist()) == {20, 35}


def test_route_lengths_stay_in_their_range() -> None:
    batch = draw(400, Part((40, 40), demands=("1-10",), route_lengths=(5.0, 8.0)))
    length = batch.capacity / batch.demands[:, 1:].double().mean(1)
    assert float(length.min()) >= 5.0
    assert float(length.max()) < 8.0 + 0.3  # a capacity is a whole number
    assert float(length.mean()) == pytest.approx(6.6, abs=0.15)


class Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the names of all operations."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: set[str] = set()

    def __torch_dispatch__(self, operation: Any, types: Any, arguments: Any = (), settings: Any = None) -> Any:
        self.names.add(str(operation))
        return operation(*arguments, **(settings or {}))


def test_nothing_is_asked_of_the_device() -> None:
    own = OwnInstancesTask(draw(6, Part((4, 9))))
    for task in (DistributionTask(BUILT_IN["mixed"]), own):
        task.draw(3, torch.Generator().manual_seed(1), 0)  # what a distribution says is copied once
        with Operations() as operations:
            task.draw(3, torch.Generator().manual_seed(1), 0)
        waiting = ("_local_scalar_dense", "nonzero", "masked_select", "equal.default", "lift_fresh")
        assert not [name for name in operations.names if any(word in name for word in waiting)]
