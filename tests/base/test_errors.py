from __future__ import annotations

import warnings

import pytest

from dynaroute.base.errors import (
    DynarouteError,
    FileError,
    FormatError,
    InputWarning,
    InstanceError,
    ModelError,
    OptionError,
    SolutionError,
    UnsupportedError,
    Where,
    gather_notes,
    in_file,
    warn_of_input,
)

KINDS = [FileError, FormatError, InstanceError, ModelError, OptionError, SolutionError, UnsupportedError]


def test_an_error_says_where_what_and_the_remedy() -> None:
    where = Where(file="town.vrp", line=7, field="CAPACITY", customer=3)
    error = FormatError("it is text.", where=where, remedy="Write a number.")
    assert str(error) == "town.vrp, line 7, field CAPACITY, customer 3: it is text. Write a number."


def test_an_error_about_a_field_is_of_its_own_kind_and_names_the_field() -> None:
    error = InstanceError.about("demands", "it is text.", "Write a number.", customer=3)
    assert type(error) is InstanceError
    assert str(error) == "field demands, customer 3: it is text. Write a number."


def test_an_error_without_a_place_is_its_message() -> None:
    assert str(DynarouteError("it is wrong.")) == "it is wrong."


def test_line_zero_is_not_taken_for_unknown() -> None:
    assert str(Where(line=0)) == "line 0"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_caught_as_ours(kind: type[DynarouteError]) -> None:
    with pytest.raises(DynarouteError):
        raise kind("it is wrong.")


def test_codes_tell_the_kinds_apart() -> None:
    codes = {kind.code for kind in (DynarouteError, *KINDS)}
    assert len(codes) == len(KINDS) + 1


def test_in_file_names_the_file() -> None:
    with pytest.raises(InstanceError) as caught, in_file("town.vrp"):
        raise InstanceError("it is wrong.", where=Where(line=7))
    assert caught.value.where == Where(file="town.vrp", line=7)


def test_in_file_keeps_a_file_that_is_named_already() -> None:
    with pytest.raises(InstanceError) as caught, in_file("outer.vrp"):
        raise InstanceError("it is wrong.", where=Where(file="inner.vrp"))
    assert caught.value.where.file == "inner.vrp"


def test_in_file_lets_foreign_errors_pass() -> None:
    with pytest.raises(ZeroDivisionError), in_file("town.vrp"):
        raise ZeroDivisionError


def test_a_warning_of_ours_is_a_user_warning() -> None:
    assert issubclass(InputWarning, UserWarning)


def test_warnings_are_gathered_though_a_library_silences_them() -> None:
    with warnings.catch_warnings(), gather_notes() as notes:
        warnings.simplefilter("ignore")  # as other threads of the process may do at any moment
        warn_of_input("town.csv", "ignored the column colour.")
    assert notes == ["town.csv: ignored the column colour."]
