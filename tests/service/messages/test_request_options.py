from __future__ import annotations

from typing import Any, get_args

import pytest

from dynaroute.base.errors import OptionError
from dynaroute.service.messages.request_options import can_be_solved_together, choose_options, refuse_excess
from dynaroute.service.messages.request_schemas import OptionsSchema
from dynaroute.solving.options import SolveOptions, list_types


def test_time_limit_makes_it_a_search() -> None:
    options = choose_options({"time_limit": 2.0}, "none", 5.0)

    assert options.improve == "search"
    assert options.time_limit == 2.0


def test_search_without_a_time_limit_gets_the_usual_one() -> None:
    assert choose_options({}, "search", 30.0).time_limit == 10.0


def test_usual_time_limit_is_at_most_the_longest() -> None:
    assert choose_options({}, "search", 0.5).time_limit == 0.5


def test_nothing_given_builds_one_solution() -> None:
    options = choose_options({}, "none", 5.0)

    assert not options.searches
    assert options.decoding.attempts == 1


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"time_limit": 1.0, "improve": "2opt"}, "time_limit"),
        ({"time_limit": 5.1}, "time_limit"),
        ({"samples": 4}, "samples"),
    ],
)
def test_options_that_cannot_be_obeyed_are_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(OptionError) as caught:
        choose_options(given, "none", 5.0)

    assert caught.value.where.field == field


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (SolveOptions(decode="sample", samples=11), "samples"),
        (SolveOptions(decode="multistart", samples=2, augment=True), "samples"),
        (SolveOptions(augment=True), "augment"),
    ],
)
def test_too_much_work_is_refused(options: SolveOptions, field: str) -> None:
    with pytest.raises(OptionError) as caught:
        refuse_excess(options, 999 if field == "augment" else 100, 1_000)

    assert caught.value.where.field == field


def test_work_at_the_limit_is_allowed() -> None:
    refuse_excess(SolveOptions(decode="sample", samples=10), 100, 1_000)


def test_an_option_left_out_is_as_good_as_its_usual_value() -> None:
    plain, spelt_out = choose_options({}, "none", 5.0), SolveOptions(decode="greedy", improve="none", seed=0)

    assert can_be_solved_together(plain, spelt_out)
    for other in ({"augment": True}, {"seed": 1}, {"model": "savings"}, {"improve": "local"}):
        assert not can_be_solved_together(plain, SolveOptions(**other))


def test_exposed_options_have_the_types_that_are_declared() -> None:
    types = list_types()

    for name, entry in OptionsSchema.model_fields.items():
        if name in ("decode", "improve"):  # not those whose time is unknown before
            offered, known = (get_args(get_args(kind)[0]) for kind in (entry.annotation, types[name]))
            assert set(known) - set(offered) <= {"beam", "sgbs", "active"}
            assert set(offered) < set(known)
        else:
            assert entry.annotation == types[name] | None
