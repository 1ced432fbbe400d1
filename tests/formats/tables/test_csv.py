from __future__ import annotations

from decimal import Decimal

import pytest
from problems import make_instance

from dynaroute.base.errors import FormatError, InputWarning, UnsupportedError
from dynaroute.formats import format_csv, instance_from_json, instance_to_json, parse_csv

ROWS = "id,x,y,demand\n0,0,0,0\n1,3,4,4\n"


def test_plain_numbers_as_ids_are_no_names() -> None:
    assert parse_csv("# capacity: 5\n" + ROWS).customer_names is None


def test_other_ids_are_names() -> None:
    assert parse_csv("# capacity: 5\nid,x,y,demand\n1,0,0,0\n2,3,4,4\n").customer_names == ("2",)


def test_a_decimal_capacity_is_exact() -> None:
    instance = parse_csv(ROWS, capacity=Decimal("4.1"))

    assert (instance.capacity, instance.demand_scale) == (41, 10)


def test_the_option_replaces_even_an_unreadable_capacity() -> None:
    assert parse_csv("# capacity: many\n" + ROWS, capacity=5).capacity == 5


@pytest.mark.parametrize("name", ["#1", "a,b", 'say "x"', "a;b", "0", "depot", "Zoë"])
def test_any_name_survives(name: str) -> None:
    instance = make_instance([[0, 0], [3, 4]], [0, 4], 10, customer_names=(name,))

    assert parse_csv(format_csv(instance)) == instance


@pytest.mark.parametrize("name", ["Lager Nord", "#1", "a,b", 'say "x"', "Summe"])
def test_the_name_of_the_depot_survives(name: str) -> None:
    instance = make_instance([[0, 0], [3, 4]], [0, 4], 10, depot_name=name)

    assert parse_csv(format_csv(instance)) == instance
    assert parse_csv(format_csv(instance)).depot_name == name
    assert instance_from_json(instance_to_json(instance)).depot_name == name


@pytest.mark.parametrize("name", ['"', "a,,", "# x", "capacity: 5"])
def test_any_name_of_an_instance_survives(name: str) -> None:
    instance = make_instance([[0, 0], [3, 4]], [0, 4], 10, name)

    assert parse_csv(format_csv(instance)).name == name


def test_the_depot_gets_an_id_that_no_customer_has() -> None:
    instance = make_instance([[0, 0]] * 4, [0, 1, 1, 1], 10, customer_names=("0", "depot", "depot-1"))

    assert format_csv(instance).splitlines()[2] == "depot-2,0,0,0"


def test_a_column_without_a_name_is_warned_of_if_it_holds_something() -> None:
    with pytest.warns(InputWarning, match="without a name"):
        parse_csv("# capacity: 5\n,x,y,demand\n0,0,0,0\n1,3,4,4\n")


def test_an_empty_column_without_a_name_is_nothing() -> None:
    assert parse_csv("# capacity: 5\nx,y,demand,\n0,0,0,\n3,4,4,\n").size == 1


def test_a_comma_in_a_comma_separated_file_is_a_cell() -> None:
    with pytest.raises(FormatError) as caught:
        parse_csv("# capacity: 5\nx,y,demand\n0,0,0\n3,5,4,4\n")

    assert caught.value.where.line == 4


def test_a_thousands_separator_is_read_where_it_can_be_nothing_else() -> None:
    with pytest.warns(InputWarning, match="decimal commas"):
        instance = parse_csv("# capacity: 5\nx;y;demand\n0;0;0\n1.000,5;4;4\n")

    assert instance.coordinates is not None
    assert instance.coordinates[1, 0] == 1000.5


def test_a_delimiter_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(FormatError):
        parse_csv('sep="\nx"y"demand\n0"0"0\n')


def test_a_quote_astray_takes_no_row_into_an_id() -> None:
    with pytest.raises(FormatError, match="line break") as caught:
        parse_csv('# capacity: 10\nid,x,y,demand\n0,0,0,0\n"1,6,8,5\n2",0,5,6\n')

    assert (caught.value.where.line, caught.value.where.field) == (4, "id")


def test_a_matrix_is_refused_with_formats_that_hold_it() -> None:
    with pytest.raises(UnsupportedError, match="matrix") as caught:
        format_csv(make_instance(None, [0, 4], 10, distances=[[0, 1], [1, 0]]))

    assert ".json" in caught.value.remedy
    assert ".vrp" in caught.value.remedy
