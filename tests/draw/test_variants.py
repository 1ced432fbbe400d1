from __future__ import annotations

import io

import numpy as np
import pytest

from dynaroute.base.errors import InputWarning, OptionError
from dynaroute.draw.variants import VARIANTS, Variant, draw_variant_set
from dynaroute.formats.sets.npz import parse_npz
from dynaroute.problem.solution import Solution, check


def test_there_are_48_variants_with_the_names_of_the_field() -> None:
    assert len(VARIANTS) == 48
    assert {"cvrp", "ovrp", "vrptw", "ovrpbltw", "vrpmb", "ovrpmbltw", "mdcvrp", "mdovrp", "mdvrptw"} <= set(VARIANTS)
    assert VARIANTS["mdovrpmbltw"] == Variant(True, "mixed", True, True, 3)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_set_begins_at_the_published_place(name: str) -> None:
    arrays = draw_variant_set(VARIANTS[name], 50).arrays
    assert arrays["locs"][0, 0].tolist() == np.array([0.19151945, 0.62210876], dtype=np.float32).tolist()
    assert {key: values.dtype.str for key, values in arrays.items() if key != "open_route"} == dict.fromkeys(
        set(arrays) - {"open_route"}, "<f4"
    )


@pytest.mark.parametrize(("size", "capacity"), [(20, 30), (50, 40), (100, 50), (1000, 230), (1100, 233)])
def test_the_capacity_grows_with_the_size(size: int, capacity: int) -> None:
    drawn = draw_variant_set(VARIANTS["cvrp"], size, 2)
    assert drawn.capacity == capacity
    assert set(np.rint(drawn.arrays["demand_linehaul"].ravel() * capacity)) <= set(range(1, 10))


@pytest.mark.parametrize("depots", [1, 3])
def test_the_draws_follow_in_the_published_order(depots: int) -> None:
    drawn = draw_variant_set(Variant(True, "mixed", True, True, depots), 50, 7, seed=4321).arrays
    count, size, capacity = 7, 50, 40
    random = np.random.RandomState(4321)
    places = random.uniform(0, 1, (count, depots + size, 2))
    linehaul = random.randint(1, 10, (count, size)).astype(np.float32) / capacity
    mask = random.rand(count, size) < 0.2
    backhaul = np.zeros((count, size))
    backhaul[mask] = random.randint(1, 10, mask.sum()).astype(np.float32) / capacity
    linehaul[mask] = 0
    service = 0.15 + (0.18 - 0.15) * random.rand(count, size)
    length = 0.18 + (0.2 - 0.18) * random.rand(count, size)
    away = np.linalg.norm(places[:, depots:] - places[:, :1], axis=2)
    latest = (4.6 - service - length) / away - 1
    start = (1 + (latest - 1) * random.rand(count, size)) * away
    least = 2 * np.linalg.norm(places[:, 1:] - places[:, :1], axis=2).max(axis=1) + 1e-6
    limit = random.uniform(least, np.maximum(2.8, least + 1e-6), (count,))
    assert random.randint(2**31) >= 0

    expected = {
        "locs": places,
        "demand_linehaul": linehaul,
        "demand_backhaul": backhaul,
        "backhaul_class": np.full((count, 1), 2),
        "vehicle_capacity": np.ones((count, 1)),
        "speed": np.ones((count, 1)),
        "time_windows": np.concatenate(
            [np.tile([0, 4.6], (count, depots, 1)), np.stack([start, start + length], axis=-1)], axis=1
        ),
        "service_time": np.pad(service, ((0, 0), (depots, 0))),
        "distance_limit": limit[:, None],
        "open_route": np.ones((count, 1)),
    }
    assert set(drawn) == set(expected)
    for key, values in expected.items():
        assert np.array_equal(drawn[key], values.astype(np.float32)), key


def test_only_the_arrays_of_a_variant_are_there() -> None:
    assert set(draw_variant_set(VARIANTS["cvrp"], 5, 2).arrays) == {
        "locs",
        "demand_linehaul",
        "vehicle_capacity",
        "speed",
    }


@pytest.mark.parametrize("name", VARIANTS)
def test_a_file_reads_as_the_instances_that_were_drawn(name: str) -> None:
    drawn = draw_variant_set(VARIANTS[name], 20, 5)
    with pytest.warns(InputWarning, match="multiples of 1/30"):
        read = parse_npz(drawn.to_npz(), source=f"{name}20.npz")
    assert read == drawn.instances()
    assert [instance.name for instance in read][:2] == [f"{name}20-1", f"{name}20-2"]
    with np.load(io.BytesIO(drawn.to_npz())) as arrays:
        assert set(arrays) == set(drawn.arrays)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_rules_are_those_of_the_variant(name: str) -> None:
    variant, instance = VARIANTS[name], draw_variant_set(VARIANTS[name], 20, 1).instances()[0]
    kinds = instance.fleet
    assert [kind.start for kind in kinds] == ["depot", "depot 2", "depot 3"][: variant.depots]
    assert {kind.end for kind in kinds} == ({"open"} if variant.is_open else {kind.start for kind in kinds})
    assert {kind.max_distance is not None for kind in kinds} == {variant.has_limit}
    assert (instance.pickups is None, instance.backhauls) == (not variant.backhauls, variant.backhauls or "mixed")
    assert {place.window is not None for place in instance.places} <= {variant.has_windows}
    assert (instance.windows is not None, instance.speed) == (
        variant.has_windows,
        1.0 if variant.has_windows else None,
    )


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("seed", [1234, 4321])
def test_every_customer_can_be_served_alone_although_numbers_have_32_bits(name: str, seed: int) -> None:
    for instance in draw_variant_set(VARIANTS[name], 50, 5, seed).instances():
        routes = tuple((customer,) for customer in range(1, instance.size + 1))
        assert check(instance, Solution(routes, vehicles=(0,) * instance.size)) == []


def test_a_seed_the_old_generator_cannot_take_is_refused() -> None:
    with pytest.raises(OptionError) as caught:
        draw_variant_set(VARIANTS["cvrp"], 5, 2, -1)
    assert caught.value.where.field == "seed"
