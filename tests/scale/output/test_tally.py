from __future__ import annotations

import math

from dynaroute.scale.output.outcomes import RowOutcome
from dynaroute.scale.output.tally import Tally

RIGHT = RowOutcome("a", 0, ((1,),), 10.0, "savings", 0.5, checked=True)
WRONG = RowOutcome("b", 1, error="it cannot be solved.")


def test_rows_with_errors_are_counted_and_told() -> None:
    tally = Tally.of([RIGHT, WRONG])
    assert (tally.rows, tally.failed, tally.priced) == (2, 1, 1)
    assert tally.faults == (("b", "it cannot be solved."),)


def test_the_mean_is_that_of_rows_with_routes() -> None:
    assert Tally.of([RIGHT, WRONG]).mean_cost == 10.0
    assert Tally.of([WRONG]).mean_cost is None


def test_tallies_of_parts_add_up_to_that_of_all() -> None:
    assert Tally.of([RIGHT]) + Tally.of([WRONG, RIGHT]) == Tally.of([RIGHT, WRONG, RIGHT])


def test_costs_are_known_to_a_per_cent() -> None:
    ((cost, count),) = Tally.of([RIGHT]).cost_counts.items()
    assert count == 1
    assert math.isclose(cost, 10.0, rel_tol=0.01)


def test_a_cost_of_zero_has_a_place() -> None:
    free = RowOutcome("c", 2, ((1,),), 0.0, "savings", checked=True)
    assert Tally.of([free]).cost_counts == {0.0: 1}


def test_only_a_few_faults_are_told() -> None:
    assert len(Tally.of([WRONG] * 100).faults) == 5
