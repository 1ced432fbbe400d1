"""Profiles of distances and travel times, the balance of work and compact routes, in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, get_args

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import FormatError, InstanceError, Where, placed
from dynaroute.formats.json.document import join_path, read_number, require, require_list, require_object
from dynaroute.formats.json.fleet import read_json_matrix
from dynaroute.formats.json.rules import PER_HOUR
from dynaroute.formats.json.times import read_seconds
from dynaroute.problem.instance import Instance
from dynaroute.problem.profiles import Profile, read_speeds
from dynaroute.problem.working_day import Balance, BalancedWork


def read_shape(document: Mapping[str, object], nodes: int, metres: float) -> dict[str, Any]:
    """Read the fields of an instance about profiles and the shape of routes, without those that are not there.

    Parameters
    ----------
    document
        The problem.
    nodes
        Number of rows of matrices.
    metres
        How many units of distance the price of one is for: 1000 where they are metres.
    """
    fields: dict[str, Any] = {}
    if document.get("profiles") is not None:
        given = require_object(document["profiles"], "profiles")
        fields["profiles"] = tuple(_read_profile(name, item, nodes) for name, item in given.items())
    if document.get("buffer") is not None:
        fields["buffer"] = read_seconds(document["buffer"], "buffer", 0.0)
    if document.get("balance") is not None:
        fields["balance"] = _read_balance(require_object(document["balance"], "balance"))
    if document.get("compactness") is not None:
        fields["compactness"] = float(read_number(document["compactness"], "compactness")) / metres
    return fields


def _read_profile(name: str, value: object, nodes: int) -> Profile:
    path = join_path("profiles", name)
    item = require_object(value, path)
    _refuse_other_keys(item, ("distances", "durations", "speed_by_hour"), path)
    distances, durations = (
        read_json_matrix(item.get(key), nodes, f"{path}.{key}") for key in ("distances", "durations")
    )
    speeds: tuple[float, ...] = ()
    if item.get("speed_by_hour") is not None:
        given = require_list(item["speed_by_hour"], f"{path}.speed_by_hour")
        speeds = tuple(float(read_number(each, f"{path}.speed_by_hour[{hour}]")) for hour, each in enumerate(given))
    with placed(partial(_place_in_profile, path)):
        return Profile(name, distances, durations, read_speeds(speeds))


def _place_in_profile(path: str, where: Where) -> Where:
    return replace(where, field=f"{path}.speed_by_hour")


def _read_balance(item: Mapping[str, object]) -> Balance:
    _refuse_other_keys(item, ("of", "weight", "target"), "balance")
    of = require(item, "of", "balance")
    if of not in get_args(BalancedWork):
        remedy = f"Use {', '.join(get_args(BalancedWork))}."
        raise InstanceError(f"balance of {of!r} is unknown.", where=Where(field="balance.of"), remedy=remedy)
    target = require(item, "target", "balance")
    if of == "hours":
        most = read_seconds(target, "balance.target", 0.0) / PER_HOUR
    else:
        most = float(read_number(target, "balance.target"))
    return Balance(of, float(read_number(require(item, "weight", "balance"), "balance.weight")), most)  # type: ignore[arg-type]


def _refuse_other_keys(item: Mapping[str, object], known: tuple[str, ...], path: str) -> None:
    for key in sorted(item.keys() - set(known)):
        raise FormatError(
            f"{path} has no {key}.", where=Where(field=join_path(path, key)), remedy=f"Use {', '.join(known)}."
        )


def shape_to_json(instance: Instance) -> dict[str, object]:
    """Write profiles, balance and compactness as keys of a problem."""
    document: dict[str, object] = {}
    if instance.profiles:
        document["profiles"] = {profile.name: _profile_to_json(profile) for profile in instance.profiles}
    if instance.buffer:
        document["buffer"] = plain_number(instance.buffer)
    if instance.balance is not None:
        balance = instance.balance
        target = balance.target * (PER_HOUR if balance.of == "hours" else 1)
        document["balance"] = {
            "of": balance.of,
            "weight": plain_number(balance.weight),
            "target": plain_number(round(target, 9)),
        }
    if instance.compactness:
        metres = 1000.0 if instance.unit == "m" else 1.0
        document["compactness"] = plain_number(round(instance.compactness * metres, 9))
    return document


def _profile_to_json(profile: Profile) -> dict[str, object]:
    matrices = {"distances": profile.distances, "durations": profile.durations}
    document: dict[str, object] = {
        key: [list(map(plain_number, row)) for row in matrix.tolist()]
        for key, matrix in matrices.items()
        if matrix is not None
    }
    if profile.speed_by_hour:
        document["speed_by_hour"] = list(map(plain_number, profile.speed_by_hour))
    return document
