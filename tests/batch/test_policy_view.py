from __future__ import annotations

import numpy as np
from policies import draw_instances

from dynaroute.batch import InstanceBatch
from dynaroute.draw import draw_paper_set
from dynaroute.problem.instance import Instance


def test_an_instances_stream_does_not_depend_on_its_neighbours() -> None:
    small, large = draw_instances(3, 30)
    alone = InstanceBatch.from_instances([small]).keys
    assert InstanceBatch.from_instances([large, small]).keys[1:].tolist() == alone.tolist()


def test_what_an_instance_holds_names_its_stream() -> None:
    places, demands = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 5.0]]), np.array([0, 1, 2])
    several = [
        Instance(places, demands, 5),
        Instance(places[[0, 2, 1]], demands, 5),
        Instance(places, demands[[0, 2, 1]], 5),
        Instance(places, demands, 6),
        Instance(places[:, ::-1], demands, 5),
        Instance(places + 1e-9, demands, 5),
        Instance(places, demands, 5, metric="great_circle"),
        Instance(np.vstack([places, [[0.0, 0.0]]]), np.append(demands, 0), 5),  # all zeros, but not padding
    ]
    keys = InstanceBatch.from_instances(several).keys
    assert len(set(keys.tolist())) == len(several)
    assert int(keys.min()) >= 0


def test_names_and_signs_of_zero_do_not_change_the_stream() -> None:
    one = Instance(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0, 1]), 5)
    other = Instance(np.array([[-0.0, 0.0], [1.0, -0.0]]), np.array([0, 1]), 5, name="again", customer_names=("a",))
    keys = InstanceBatch.from_instances([one, other]).keys
    assert int(keys[0]) == int(keys[1])


def test_many_random_instances_have_distinct_streams() -> None:
    arrays = draw_paper_set(5, 20_000, np.random.default_rng(0))
    batch = InstanceBatch.from_arrays(arrays.depot, arrays.locations, arrays.demands, arrays.capacity)
    assert len(set(batch.keys.tolist())) == 20_000
