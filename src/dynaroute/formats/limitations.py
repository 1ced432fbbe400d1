"""Refusing to write what a format cannot hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dynaroute.base.errors import UnsupportedError
from dynaroute.problem.instance import Instance
from dynaroute.problem.rules import RULES


def refuse_what_cannot_be_stored(file: str, obstacles: Mapping[str, tuple[str, bool]]) -> None:
    """Raise if the instance has something that the format cannot hold.

    Parameters
    ----------
    file
        The kind of file, such as "a .npz file".
    obstacles
        By field: its name in words, and whether the instance has it.
    """
    for field, (thing, is_there) in obstacles.items():
        if is_there:
            raise UnsupportedError.about(
                field, f"{file} cannot hold {thing}.", "Write a .json file, which holds everything."
            )


def list_other_rules(instance: Instance, held: Collection[str]) -> dict[str, tuple[str, bool]]:
    """List the rules of an instance that a format does not hold, also those that nothing in it uses yet."""
    idle = {"buffer": instance.buffer > 0, "profile": bool(instance.profiles)}
    idle["usual_vehicles"] = instance.usual_vehicles is not None
    others = {name for name in instance.rules if name not in held} | {
        name for name, is_there in idle.items() if is_there
    }
    return {name: (RULES[name], True) for name in sorted(others)}
