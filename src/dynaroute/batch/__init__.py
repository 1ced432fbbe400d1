"""Batches of instances and of solutions, as tensors. Mixed sizes are padded.

Begin with `instances`. It may import `base` and `problem`. The names are loaded on first use, because not everything in
this room needs PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynaroute.batch.instances import InstanceBatch
    from dynaroute.batch.routes import RouteBatch

__all__ = ["InstanceBatch", "RouteBatch"]

_MODULES = {"InstanceBatch": "dynaroute.batch.instances", "RouteBatch": "dynaroute.batch.routes"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'dynaroute.batch' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value
