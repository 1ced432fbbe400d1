"""Words that files, options and answers share, each list said once. It is light to import: ``--help`` reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

__all__ = [
    "CustomerPositions",
    "DemandKind",
    "DepotPosition",
    "Metric",
    "ProverName",
    "Rounding",
    "ViolationKind",
    "join_with_or",
]

Rounding = Literal["none", "nearest", "up"]
Metric = Literal["euclidean", "great_circle"]
ViolationKind = Literal["unknown", "missing", "repeated", "overload", "cost"]

CustomerPositions = Literal["uniform", "clustered", "mixed"]
DepotPosition = Literal["centre", "corner", "random"]
DemandKind = Literal["unitary", "1-9", "1-10", "5-10", "1-100", "50-100", "quadrant", "many-small"]

ProverName = Literal["gurobi", "cp-sat"]


def join_with_or(words: Sequence[str]) -> str:
    """Words as a sentence lists them: none, nearest or up."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
