from __future__ import annotations

import numpy as np
import pytest

from dynaroute.base.errors import InstanceError
from dynaroute.draw import InstanceArrays, draw_paper_set


def test_each_row_becomes_an_instance() -> None:
    arrays = draw_paper_set(7, 3, np.random.default_rng(1))
    made = arrays.instances()
    assert len(arrays) == len(made) == 3
    for row, instance in enumerate(made):
        assert instance.coordinates is not None
        assert instance.size == arrays.size == 7
        assert (instance.coordinates[0] == arrays.depot[row]).all()
        assert (instance.coordinates[1:] == arrays.locations[row]).all()
        assert instance.demands.tolist() == [0, *arrays.demands[row]]
        assert instance.capacity == arrays.capacity[row]
        assert instance.rounding == "none"


@pytest.mark.parametrize(
    ("field", "shape"),
    [("depot", (2, 2)), ("depot", (3, 3)), ("locations", (3, 6, 2)), ("capacity", (3, 1)), ("demands", (21,))],
)
def test_arrays_that_do_not_belong_together_are_refused(field: str, shape: tuple[int, ...]) -> None:
    parts = {"depot": (3, 2), "locations": (3, 7, 2), "demands": (3, 7), "capacity": (3,)} | {field: shape}
    with pytest.raises(InstanceError) as caught:
        InstanceArrays(**{name: np.ones(size, dtype=np.int64) for name, size in parts.items()})  # type: ignore[arg-type]
    assert caught.value.where.field == field
