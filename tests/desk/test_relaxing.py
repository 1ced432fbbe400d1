"""What makes a day possible that cannot be planned."""

from __future__ import annotations

import pytest
from desk_days import DAY

from dynaroute.base.stopping import Stopping
from dynaroute.desk import trying
from dynaroute.desk.relaxing import relax, relaxed_to_json
from dynaroute.desk.trying import SearchTime
from dynaroute.formats import instance_from_json
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import check
from dynaroute.search.with_limits.search import search_with_limits

QUICK = SearchTime(1.0, threads=1)


@pytest.fixture(autouse=True)
def _search_by_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search for a number of iterations, so that results do not depend on how busy the machine is."""

    def search(instances: list[Instance], **_: object) -> list[object]:
        return [search_with_limits(instance, None, Stopping(iterations=3000)) for instance in instances]

    monkeypatch.setattr(trying, "solve", search)


def test_a_window_that_nobody_can_keep_ends_later() -> None:
    late = [{**each, "window": ["08:00", "08:10"]} if each["id"] == "Library" else each for each in DAY["customers"]]
    relaxed = relax(instance_from_json({**DAY, "customers": late}), QUICK)

    assert relaxed.base.plan is None
    (library,) = [trial for trial in relaxed.possible if trial.variant.kind == "window"]
    assert library.variant.name.startswith("Library until ")
    assert library.variant.name != "Library until any time"
    for trial in relaxed.possible:
        assert trial.plan is not None
        assert check(trial.variant.instance, trial.plan.solution) == []


def test_a_day_that_is_possible_needs_nothing() -> None:
    document = relaxed_to_json(relax(instance_from_json(DAY), QUICK))

    assert (document["possible"], document["relaxations"]) == (True, [])


def test_one_vehicle_more_helps_where_one_is_lacking() -> None:
    vans = [{**van, "count": 1} for van in DAY["vehicles"]]
    relaxed = relax(instance_from_json({**DAY, "vehicles": vans}), QUICK)

    assert "demand 17" in relaxed.base.reason
    assert "one Sprinter more" in [trial.variant.name for trial in relaxed.possible]
