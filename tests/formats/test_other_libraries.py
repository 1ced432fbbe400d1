"""Sets as other libraries write them, made from one set: all of them read equal to it."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dynaroute.base.errors import DynarouteError, FormatError, InputWarning, UnsupportedError
from dynaroute.draw import draw_published_set
from dynaroute.formats import read_set
from dynaroute.formats.sets.kool_pickle import parse_kool_pickle
from dynaroute.formats.sets.npz import parse_npz
from dynaroute.formats.sets.torch_set import parse_torch_set

COUNT = 6
SIZES = (20, 50, 100)  # with capacities 30, 40 and 50
DRAWN = {size: draw_published_set(size, COUNT) for size in SIZES}


def archive(**parts: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **parts)
    return buffer.getvalue()


def saved(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def parts_of(size: int, **changes: Any) -> dict[str, Any]:
    drawn = DRAWN[size]
    parts = {"depot": drawn.depot, "locs": drawn.locations, "demand": drawn.demands, "capacity": drawn.capacity}
    return {key: value for key, value in {**parts, **changes}.items() if value is not None}


def list_layouts(size: int) -> dict[str, dict[str, Any]]:
    """The arrays in every layout, by its name."""
    drawn = DRAWN[size]
    inside = np.concatenate([drawn.depot[:, None], drawn.locations], axis=1)
    with_depot = np.pad(drawn.demands, ((0, 0), (1, 0)))
    column = drawn.capacity[:, None]
    divided = drawn.demands / column
    return {
        "normalised, capacity 1": parts_of(size, demand=divided, capacity=np.ones(COUNT)),
        "normalised in 32 bits": parts_of(size, demand=divided.astype("f4"), capacity=np.ones(COUNT, "f4")),
        "normalised, capacity 1 in a column": parts_of(size, demand=divided, capacity=np.ones((COUNT, 1))),
        "normalised, no capacity": parts_of(size, demand=divided.astype("f4"), capacity=None),
        "normalised, capacity in a column": parts_of(size, demand=divided.astype("f4"), capacity=column.astype("f4")),
        "capacity in a column": parts_of(size, capacity=column),
        "depot inside": parts_of(size, depot=None, locs=inside),
        "depot inside, with its demand": parts_of(size, depot=None, locs=inside, demand=with_depot),
        "depot inside and apart": parts_of(size, locs=inside),
        "depot apart, with its demand": parts_of(size, demand=with_depot),
        "depot nested": parts_of(size, depot=drawn.depot[:, None]),
    }


@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("layout", list_layouts(20))
def test_arrays_in_any_layout_read_equal(layout: str, size: int) -> None:
    parts, expected = list_layouts(size)[layout], DRAWN[size].instances()
    assert parse_npz(archive(**parts)) == expected
    # numpy's float64 positions, so that they are the same to the last bit
    assert (
        parse_torch_set(saved({key: torch.from_numpy(np.asarray(value)) for key, value in parts.items()})) == expected
    )


@pytest.mark.parametrize("suffix", [".pt", ".pth"])
@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
def test_a_list_of_dictionaries_of_tensors_is_a_set(tmp_path: Path, suffix: str) -> None:
    drawn = DRAWN[20]
    items = [
        {
            "loc": torch.from_numpy(drawn.locations[index]),
            "depot": torch.from_numpy(drawn.depot[index]),
            "demand": torch.from_numpy(drawn.demands[index] / drawn.capacity[index]).float(),
        }
        for index in range(COUNT)
    ]
    (tmp_path / f"set{suffix}").write_bytes(saved(items))
    instances = read_set(tmp_path / f"set{suffix}")
    assert instances == drawn.instances()
    assert instances[0].name == "set-1"


def test_what_was_put_right_is_told() -> None:
    with pytest.warns(InputWarning, match="1/40"):
        parse_npz(archive(**list_layouts(50)["normalised, no capacity"]))
    with pytest.warns(InputWarning, match="multiplied"):
        parse_npz(archive(**list_layouts(50)["normalised, capacity in a column"]))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"capacity": None}, "capacity"),
        ({"depot": None}, "depot"),
        ({"demand": np.ones((COUNT, 19))}, "demand"),
        ({"capacity": np.full((COUNT, 2), 30)}, "capacity"),
        ({"depot": np.zeros((COUNT, 2, 2))}, "depot"),
    ],
)
def test_what_is_not_clear_is_refused_by_name(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_npz(archive(**parts_of(20, **changes)))
    assert caught.value.where is not None
    assert caught.value.where.field == field


@pytest.mark.parametrize(
    "value",
    [
        5,
        torch.zeros(3),
        {"locs": torch.zeros(2, 3, 2)},
        {"locs": "text", "demand": torch.zeros(2, 3)},
        {"locs": torch.zeros(2, 3, 2, dtype=torch.complex64), "demand": torch.zeros(2, 3)},
        {"locs": torch.zeros(2, 3, 2), "demand": torch.ones(2, 3, dtype=torch.bool)},
        [],
        [{"loc": torch.zeros(3, 2)}, {"loc": torch.zeros(4, 2)}],
        [{"loc": torch.zeros(3, 2)}, {"demand": torch.zeros(4)}],
    ],
    ids=str,
)
def test_tensors_of_another_shape_are_refused(value: object) -> None:
    with pytest.raises(DynarouteError) as caught:
        parse_torch_set(saved(value))
    assert caught.value.remedy


@pytest.mark.parametrize("key", ["time_windows", "durations", "distance_limit", "backhaul_class"])
def test_a_tensor_that_routes_may_depend_on_is_refused_by_name(key: str) -> None:
    tensors = {name: torch.from_numpy(np.asarray(value)) for name, value in parts_of(20).items()}
    with pytest.raises(UnsupportedError, match=f"the tensor {key} looks like a constraint"):
        parse_torch_set(saved({**tensors, key: torch.ones(COUNT, 1)}))
    with pytest.warns(InputWarning, match=f"ignored the tensors {key}"):
        assert parse_torch_set(saved({**tensors, key: torch.ones(0)})) == DRAWN[20].instances()


class Explosive:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.mkdir, (self.path,)


@pytest.mark.parametrize("suffix", [".pt", ".pkl"])
def test_a_file_that_asks_for_more_executes_nothing(tmp_path: Path, suffix: str) -> None:
    value = [(*SOUND, Explosive(tmp_path / "made"))]
    (tmp_path / f"set{suffix}").write_bytes(saved(value) if suffix == ".pt" else pickle.dumps(value))
    with pytest.raises(DynarouteError):
        read_set(tmp_path / f"set{suffix}")
    assert not (tmp_path / "made").exists()


SOUND = ([0.5, 0.5], [[0.1, 0.2], [0.3, 0.4]], [3, 4], 30.0)


@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("size", SIZES[:1])
def test_pickles_in_any_layout_read_equal(size: int, protocol: int) -> None:
    drawn, expected = DRAWN[size], DRAWN[size].instances()
    rows = list(zip(drawn.depot, drawn.locations, drawn.demands, drawn.capacity, strict=True))
    layouts = {
        "arrays": rows,
        "lists in arrays": [(depot.tolist(), places, loads.tolist(), int(full)) for depot, places, loads, full in rows],
        "nested depot": [([row[0].tolist()], row[1].tolist(), row[2].tolist(), int(row[3])) for row in rows],
        "nested depot as an array": [(depot[None], places, loads, full) for depot, places, loads, full in rows],
        "capacity as an array": [(depot, places, loads, np.array([full])) for depot, places, loads, full in rows],
        "a fifth element": [(*row, 1.0) for row in rows],
        "words behind": [(*row, "centre", "uniform", 1) for row in rows],
        "lists of rows": [list(row) for row in rows],
    }
    for layout, items in layouts.items():
        assert parse_kool_pickle(pickle.dumps(items, protocol)) == expected, layout


def test_a_fifth_element_is_told() -> None:
    with pytest.warns(InputWarning, match="after the capacity"):
        parse_kool_pickle(pickle.dumps([(*SOUND, 1)]))


@pytest.mark.parametrize("further", [[0.0, 9.0], np.zeros(2), [[0, 5], [3, 9]]], ids=repr)
def test_a_value_for_each_customer_is_refused_by_name(further: object) -> None:
    with pytest.raises(UnsupportedError, match="element 5"):
        parse_kool_pickle(pickle.dumps([(*SOUND, further)]))
