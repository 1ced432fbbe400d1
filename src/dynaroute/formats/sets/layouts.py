"""The layouts of sets that are read, told apart by the names of their arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from dynaroute.formats.sets.arrays import KEYS, SHAPES, make_instances, refuse_faulty_shapes
from dynaroute.formats.sets.routefinder import VARIANT_KEYS, VARIANT_SHAPES, make_variants, refuse_faulty_variant_shapes
from dynaroute.problem.instance import Instance


@dataclass(frozen=True)
class SetLayout:
    """Which arrays make up a set.

    Attributes
    ----------
    keys
        Their names.
    shapes
        Their shapes, in words.
    refuse_faulty_shapes
        Checks shapes against each other, before memory is allocated.
    make_instances
        Makes the instances from the arrays and the beginning of their names.
    """

    keys: tuple[str, ...]
    shapes: str
    refuse_faulty_shapes: Callable[[Mapping[str, tuple[int, ...]]], None]
    make_instances: Callable[[Mapping[str, NDArray[Any]], str], list[Instance]]


_PLAIN = SetLayout(KEYS, SHAPES, refuse_faulty_shapes, make_instances)
_VARIANTS = SetLayout(VARIANT_KEYS, VARIANT_SHAPES, refuse_faulty_variant_shapes, make_variants)


def find_layout(names: Collection[str]) -> SetLayout:
    """Find the layout of a set.

    Parameters
    ----------
    names
        The names of all its arrays.
    """
    return _VARIANTS if "demand_linehaul" in names else _PLAIN
