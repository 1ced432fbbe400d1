"""The shipped models, found without loading them, and which of them suits an instance.

Begin with `choice`. It may import `base`, `problem` and `draw`.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from dynaroute.base.errors import ModelError

__all__ = ["GENERALIST", "find_model", "nearest_shipped_model", "read_card", "read_rules", "shipped_models"]

GENERALIST = "amd"  # the model for all sizes and kinds
_FOLDER = Path(__file__).parent


@cache
def shipped_models() -> dict[str, int | None]:
    """List the shipped models with the number of customers they were trained on; None if only used by name."""
    models: dict[str, int | None] = {}
    for config in sorted(_FOLDER.glob("*/config.json")):
        description = json.loads(config.read_text(encoding="utf-8"))
        name, card = config.parent.name, description["card"]
        models[name] = card["size"] if _can_be_chosen(name, description["kind"], card) else None
    return models


def _can_be_chosen(name: str, kind: str, card: dict[str, Any]) -> bool:
    """Whether a model can be chosen for an instance: the generalist, and the specialists for one size."""
    if kind != "AM-D":
        return False  # these ship for comparison
    return name == GENERALIST or card.get("smallest_size") is None


def nearest_shipped_model(size: int) -> str | None:
    """Return the shipped specialist trained on the nearest size; None if there is none.

    Parameters
    ----------
    size
        Number of customers.
    """
    models = shipped_models().items()
    sizes = {name: trained for name, trained in models if trained is not None and name != GENERALIST}
    return min(sizes, key=lambda name: (abs(sizes[name] - size), -sizes[name]), default=None)


def find_model(name: str | Path) -> Path:
    """Return the folder of a shipped model, or a given folder.

    Parameters
    ----------
    name
        A shipped model's name, or a path.
    """
    if str(name) in shipped_models():
        return _FOLDER / str(name)
    folder = Path(name)
    with suppress(OSError):  # a name too long for a path, or a folder without permission
        if str(name) and folder.is_dir():  # an empty name would be the current folder
            return folder
    shipped = ", ".join(shipped_models()) or "none in this version"
    raise ModelError.about(
        "model",
        f"there is no model {str(name)!r}: it is neither a folder nor a shipped model.",
        f"Shipped models: {shipped}.",
    )


def read_card(name: str | Path) -> dict[str, Any]:
    """Read what a model says of itself, without loading it.

    Parameters
    ----------
    name
        A shipped model's name, or a path.
    """
    card: dict[str, Any] = json.loads((find_model(name) / "config.json").read_text(encoding="utf-8"))["card"]
    return card


def read_rules(name: str | Path) -> frozenset[str]:
    """Read which rules beyond capacity a model knows, without loading it.

    Parameters
    ----------
    name
        A shipped model's name, or a path.
    """
    description = json.loads((find_model(name) / "config.json").read_text(encoding="utf-8"))
    return frozenset(description["policy"].get("rules", ()))
