"""What customers who are left out count."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.with_limits.bounds import weigh_absence
from dynaroute.search.with_limits.problem import price_absence

NOBODY = math.nan


@pytest.mark.parametrize("vehicles_first", [False, True])
def test_who_must_be_served_counts_more_than_all_priorities_and_each_of_them_more_than_any_plan(
    vehicles_first: bool,
) -> None:
    places = np.random.default_rng(3).integers(0, 100, (9, 2)).astype(float)
    priorities = [NOBODY, 0, 100, 0, 30, 100, 30, NOBODY, 0]
    instance = Instance(places, np.array([0, *[1] * 8]), 9, priorities=np.array(priorities))
    absence_price, vehicle_price = price_absence(instance, vehicles_first)
    weights = weigh_absence(instance, absence_price)
    assert weights[7] == absence_price
    optional = weights[~np.isnan(priorities)]
    assert weights[7] > optional.sum()
    assert weights[2] > weights[[1, 3, 4, 6, 8]].sum()
    assert weights[4] > weights[[1, 3, 8]].sum()
    dearest = Solution(tuple((customer,) for customer in range(1, 9)))
    assert weights[1] > dearest.cost(instance) + 8 * vehicle_price
