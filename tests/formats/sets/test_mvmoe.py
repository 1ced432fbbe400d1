from __future__ import annotations

import pickle
from typing import Any

import pytest

from dynaroute.base.errors import DynarouteError, FormatError, InputWarning, UnsupportedError
from dynaroute.formats.sets.kool_pickle import parse_kool_pickle
from dynaroute.problem.instance import Instance

PLAIN = ([[0.5, 0.5]], [[0.1, 0.2], [0.3, 0.4], [0.8, 0.9]], [3.0, 4.0, 5.0], 40.0)
TIMES = ([0.2, 0.2, 0.2], [0.5, 0.6, 0.7], [1.5, 1.6, 2.7])

pytestmark = pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")


def read(name: str, *further: Any) -> Instance:
    return parse_kool_pickle(pickle.dumps([(*PLAIN, *further)]), source=f"folder/{name}.pkl")[0]


def rules_of(instance: Instance) -> tuple[bool, float | None, bool]:
    kind = instance.fleet[0]
    return kind.end == "open", kind.max_distance, instance.windows is not None


@pytest.mark.parametrize(
    ("name", "further", "rules"),
    [
        ("cvrp50_uniform", (), (False, None, False)),
        ("vrp20_test_seed1234", (), (False, None, False)),
        ("ovrp50_uniform", (), (True, None, False)),
        ("vrpl50_uniform", (3.0,), (False, 3.0, False)),
        ("VRPL50_uniform", ([3.0],), (False, 3.0, False)),
        ("ovrpl100_uniform", (3.0,), (True, 3.0, False)),
        ("vrptw50_uniform", TIMES, (False, None, True)),
        ("ovrptw50_uniform", TIMES, (True, None, True)),
        ("vrpltw50_uniform", (3.0, *TIMES), (False, 3.0, True)),
        ("ovrpltw50_uniform", (3.0, *TIMES), (True, 3.0, True)),
        ("mine", (3.0, *TIMES), (False, 3.0, True)),
    ],
)
def test_every_kind_that_can_be_planned_is_read(name: str, further: Any, rules: tuple[Any, ...]) -> None:
    assert rules_of(read(name, *further)) == rules


def test_windows_and_services_are_those_of_the_file_in_a_day_of_three() -> None:
    with pytest.warns(InputWarning, match="closes at 3"):
        instance = read("vrptw50_uniform", *TIMES)
    assert instance.windows is not None
    assert instance.service is not None
    assert instance.windows.tolist() == [[0, 3], [0.5, 1.5], [0.6, 1.6], [0.7, 2.7]]
    assert instance.service.tolist() == [0, 0.2, 0.2, 0.2]
    assert instance.speed == 1


def test_open_routes_are_told() -> None:
    with pytest.warns(InputWarning, match="routes are open"):
        read("ovrp50_uniform")


def test_a_number_alone_is_a_limit_only_if_the_name_says_so() -> None:
    with pytest.warns(InputWarning, match="ignored 1 elements"):
        assert rules_of(read("results", 15.5)) == (False, None, False)


@pytest.mark.parametrize("name", ["vrpb50_uniform", "ovrpbltw100_uniform", "VRPBTW"])
def test_backhauls_for_which_the_vehicle_leaves_full_are_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedError, match="leaves full"):
        read(name)


@pytest.mark.parametrize(
    "further",
    [TIMES[:2], (TIMES[0], TIMES[1], TIMES[2][:2]), (*TIMES, 3.0), (3.0, 4.0, *TIMES), (TIMES[0],)],
)
def test_other_elements_for_each_customer_are_refused(further: Any) -> None:
    with pytest.raises(UnsupportedError, match="one value per customer"):
        read("vrptw50_uniform", *further)


def test_windows_of_a_longer_day_are_refused_by_customer() -> None:
    with pytest.raises(FormatError, match="ends after 3") as caught:
        read("vrptw50_uniform", *TIMES[:2], [1.5, 3.5, 2.0])
    assert (caught.value.where.field, caught.value.where.customer) == ("[0].windows", 2)


@pytest.mark.parametrize("times", [(TIMES[0], TIMES[2], TIMES[1]), ([-1.0, 0, 0], *TIMES[1:])])
def test_times_that_are_no_problem_are_refused(times: Any) -> None:
    with pytest.raises(DynarouteError) as caught:
        read("vrptw50_uniform", *times)
    assert caught.value.remedy
