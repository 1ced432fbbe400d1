from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dynaroute.base.errors import DynarouteError, FileError, FormatError, OptionError
from dynaroute.draw.distribution import (
    BUILT_IN,
    Distribution,
    Part,
    find_distribution,
    largest_demand,
    read_distribution,
    show_distribution,
)

EXAMPLE = """
[[parts]]
sizes = [20, 80]
customers = ["clustered"]
demands = ["1-10", "quadrant"]
route_lengths = [4, 9.5]
weight = 3

[[parts]]
sizes = [100, 100]
capacities = [40, 50]
"""


def test_a_file_is_read_and_called_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "depots.toml"
    file.write_text(EXAMPLE)
    read = find_distribution(str(file))
    assert read.name == "depots"
    assert read.parts[0] == Part(
        (20, 80), ("clustered",), demands=("1-10", "quadrant"), route_lengths=(4, 9.5), weight=3
    )
    assert read.parts[1] == Part((100, 100), capacities=(40, 50))
    assert (read.smallest, read.largest) == (20, 100)
    assert read.mean_size == (3 * 50 + 100) / 4
    assert read.mean_square_size == pytest.approx((3 * (20**2 + 20 * 80 + 80**2) / 3 + 100**2) / 4)


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_what_is_written_reads_back_equal(tmp_path: Path, name: str) -> None:
    lines = show_distribution(BUILT_IN[name], "here")
    file = tmp_path / "other.toml"
    file.write_text("\n".join(lines).replace("[here]", "").replace("here.parts", "parts"))
    assert read_distribution(file) == find_distribution(name)


def test_other_sizes_keep_the_kinds() -> None:
    resized = BUILT_IN["x"].resize(30, 40)
    assert (resized.smallest, resized.largest) == (30, 40)
    assert {part.demands for part in resized.parts} == {part.demands for part in BUILT_IN["x"].parts}


def test_a_description_names_sizes_and_kinds() -> None:
    words = Distribution((Part((5, 9), ("clustered",), route_lengths=(2.0, 3.0)),), "mine").describe()
    assert words.startswith("mine: 100 % n=5 to 9, clustered customers")
    assert "2 to 3 customers per route" in words


def test_the_largest_demands_are_those_of_the_rich_and_the_few() -> None:
    assert [largest_demand(kind) for kind in ("1-9", "quadrant", "many-small")] == [9, 100, 100]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"sizes": (20,)}, "sizes"),
        ({"sizes": (30, 20)}, "sizes"),
        ({"sizes": (0, 20)}, "sizes"),
        ({"sizes": (20, 10**7)}, "sizes"),
        ({"customers": ("everywhere",)}, "customers"),
        ({"customers": "uniform"}, "customers"),
        ({"depots": ()}, "depots"),
        ({"demands": ("1-1000",)}, "demands"),
        ({"route_lengths": "long"}, "route_lengths"),
        ({"route_lengths": (9.0, 3.0)}, "route_lengths"),
        ({"route_lengths": (3.0, "6")}, "route_lengths"),
        ({"route_lengths": "x", "capacities": (50,)}, "capacities"),
        ({"capacities": (8,)}, "capacities"),
        ({"capacities": (30.5,)}, "capacities"),
        ({"demands": ("1-100",)}, "capacities"),
        ({"coordinates": "metres"}, "coordinates"),
        ({"cluster_seeds": (0, 3)}, "cluster_seeds"),
        ({"cluster_seeds": (3, 99)}, "cluster_seeds"),
        ({"weight": 0}, "weight"),
    ],
)
def test_a_part_that_cannot_be_is_refused_by_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(OptionError) as caught:
        replace(Part((20, 100)), **changes)
    assert caught.value.where.field == field


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("parts = 3", "not tables"),
        ('name = "x"', "no parts"),
        ("[[parts]]\nweight = 1", "no sizes"),
        ("[[parts]]\nsizes = [1, 2]\ncolour = 'red'", "no such setting"),
        ("[[parts]]\nsizes = [1, 2]\ndepots = [['centre']]", "unknown"),
        ("colour = 'red'", "no such setting"),
        ("[[parts", "not TOML"),
    ],
)
def test_a_faulty_file_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "faulty.toml"
    file.write_text(text)
    with pytest.raises(DynarouteError, match=message) as caught:
        read_distribution(file)
    assert caught.value.where.file == str(file)


def test_a_file_that_is_not_there_and_a_name_that_is_unknown_are_refused() -> None:
    with pytest.raises(FileError):
        find_distribution("missing.toml")
    with pytest.raises(OptionError, match="no distribution 'xx'"):
        find_distribution("xx")


def test_a_distribution_without_parts_is_refused() -> None:
    with pytest.raises(OptionError, match="no parts"):
        Distribution(())
    with pytest.raises((OptionError, FormatError)):
        Distribution((Part((1, 2)),), name=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[2] / "docs" / "distributions").glob("*.toml")), ids=str)
def test_documented_distributions_can_be_read(path: Path) -> None:
    distribution = find_distribution(str(path))
    assert distribution.name == path.stem
    assert distribution.smallest >= 10
