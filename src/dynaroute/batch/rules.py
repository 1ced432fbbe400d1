"""What routes must keep besides capacity, as tensors: time windows, limits, open routes and pickups.

Times and lengths are whole *ticks*, so that every device decides alike. A leg is rounded up, a window begins rounded up
and ends rounded down, limits are rounded down: what is feasible in ticks is feasible in truth. There are so many ticks
to a unit that the longest possible route fits in 31 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynaroute.base.errors import UnsupportedError
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.rules import refuse_other_rules

RULE_WORDS: dict[str, str] = {
    "windows": "time windows",
    "open": "open routes",
    "distance": "longest distances",
    "duration": "longest durations",
    "backhauls": "backhauls after all deliveries",
    "pickups": "loads that are brought back",
    "types": "several vehicle types",
}
NEVER = 1 << 30  # ticks: later than any route ends
KINDS = 64  # combinations of rules
FEATURES = 5  # what eq 2 sees of a node besides position and demand

_TICKS = 1 << 29  # of the longest route
_KNOWN = frozenset({"pickups", "backhauls_last"})  # of `Instance.rules`
_TABLES = ("legs", "durations")  # shared by all copies of an instance


@dataclass(frozen=True, eq=False)
class RuleBatch:
    """The rules of B instances with M nodes, copies of I instances.

    Times begin when a vehicle may leave the depot at the earliest to any use.

    Attributes
    ----------
    names
        Names of the rules that some instance may have, of those in `RULE_WORDS`.
    legs, durations
        (I, M, M) int32 ticks of the ways between nodes: lengths, and times.
    row
        (B,) int64 the row of these tables for each instance.
    pickups
        (B, M) int32 what is brought back.
    early, late, service
        (B, M) int32 ticks: first and last start of service, and its length. Of the depot, `late` is when it closes.
    longest_distance, longest_duration
        (B,) int32 ticks; `NEVER` without a limit.
    is_open
        (B,) whether routes end at their last customers.
    is_last
        (B,) whether nothing is delivered after a pickup.
    has_times
        (B,) whether anything limits times; else clocks are not looked at.
    per_length, per_time
        (B,) float64 ticks that make a unit of the unit square, and the time to drive it.
    day
        (B,) float64 ticks: when all is over.
    """

    names: frozenset[str]
    legs: Tensor
    durations: Tensor
    row: Tensor
    pickups: Tensor
    early: Tensor
    late: Tensor
    service: Tensor
    longest_distance: Tensor
    longest_duration: Tensor
    is_open: Tensor
    is_last: Tensor
    has_times: Tensor
    per_length: Tensor
    per_time: Tensor
    day: Tensor

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> RuleBatch:
        """Apply a function to every tensor."""
        changed: dict[str, Any] = {name: change(tensor) for name, tensor in self._tensors().items()}
        return replace(self, **changed)

    def map_rows(self, change: Callable[[Tensor], Tensor]) -> RuleBatch:
        """Apply a function to what has a row for each copy; tables stay."""
        own = {name: tensor for name, tensor in self._tensors().items() if name not in _TABLES}
        changed: dict[str, Any] = {name: change(tensor) for name, tensor in own.items()}
        return replace(self, **changed)

    def of_nodes(self, rows: Tensor, nodes: Tensor) -> RuleBatch:
        """Return the rules of parts of instances, with tables of their own.

        Parameters
        ----------
        rows
            (P,) which instance each is a part of.
        nodes
            (P, K) its nodes there, the depot first and as padding.
        """
        changed: dict[str, Any] = {}
        for name, tensor in self._tensors().items():
            if name in _TABLES:
                changed[name] = tensor[self.row[rows][:, None, None], nodes[:, :, None], nodes[:, None, :]]
            else:
                changed[name] = tensor[rows] if tensor.ndim == 1 else tensor[rows].gather(1, nodes)
        return replace(self, **{**changed, "row": torch.arange(len(rows), device=rows.device)})

    def list_tensors(self) -> list[Tensor]:
        """All tensors, in a fixed order."""
        return list(self._tensors().values())

    def _tensors(self) -> dict[str, Tensor]:
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Tensor)}

    @property
    def kinds(self) -> Tensor:
        """(B,) int64 a number below `KINDS` for each combination of rules."""
        flags = (
            self.is_open,
            self.is_last,
            ~self.is_last & (self.pickups > 0).any(1),
            self.longest_distance < NEVER,
            self.longest_duration < NEVER,
            (self.late < NEVER).any(1) | (self.early > 0).any(1),
        )
        return torch.stack([flag.long() << place for place, flag in enumerate(flags)]).sum(0)

    def features(self, instance: Tensor, node: Tensor, capacity: Tensor) -> Tensor:
        """(T, `FEATURES`) what eq 2 sees of T nodes besides position and demand; all 0 where there is no rule.

        A customer's are its pickup, window, service, and whether it has a window. The depot's are the facts of its
        instance: open routes, backhauls last, the longest distance, the day's length and the longest duration.

        Parameters
        ----------
        instance, node
            (T,) indices of instances and nodes.
        capacity
            (T,) of their instances' vehicles.
        """
        flat = instance * self.late.shape[1] + node  # (T,)
        pickup, early, late, service = (
            table.flatten()[flat].double() for table in (self.pickups, self.early, self.late, self.service)
        )  # (T,) each
        day, has_times = self.day[instance], self.has_times[instance]
        times = torch.stack([early, late.minimum(day), service, (late < day) * day], 1) / day[:, None]  # (T, 4)
        of_customer = torch.cat([(pickup / capacity)[:, None], times * has_times[:, None]], 1)  # (T, 5)
        limit, duration = self.longest_distance[instance], self.longest_duration[instance]
        of_depot = torch.stack(
            [
                self.is_open[instance],
                self.is_last[instance],
                torch.where(limit < NEVER, limit / self.per_length[instance], 0.0),
                torch.where(has_times, (day / self.per_time[instance]).log1p(), 0.0),
                torch.where(duration < NEVER, duration / day, 0.0),
            ],
            1,
        )  # (T, 5)
        return torch.where((node == 0)[:, None], of_depot, of_customer)


@dataclass(frozen=True, eq=False)
class Limits:
    """The rules of B instances in their own units, float64; infinite where there is no limit.

    Attributes
    ----------
    legs, durations
        (B, M, M) lengths and times of the ways between nodes. If `durations` is None, times are in units of length.
    windows
        (B, M, 2) first and last start of service; of the depot, first departure and last return, or if routes are open
        the last end of a service.
    service
        (B, M).
    pickups
        (B, M) int32.
    longest_distance, longest_duration
        (B,).
    is_open, is_last
        (B,) see `RuleBatch`.
    extent
        (B,) units of length that make the unit square's side.
    """

    legs: Tensor
    durations: Tensor | None
    windows: Tensor
    service: Tensor
    pickups: Tensor
    longest_distance: Tensor
    longest_duration: Tensor
    is_open: Tensor
    is_last: Tensor
    extent: Tensor


def measure_rules(limits: Limits, is_customer: Tensor, names: Collection[str]) -> RuleBatch:
    """Measure rules in ticks, on any device, without waiting for it.

    Parameters
    ----------
    limits
        The rules.
    is_customer
        (B, M) false for depots and padding.
    names
        Names of the rules that some instance may have.
    """
    times = limits.legs if limits.durations is None else limits.durations  # (B, M, M)
    early, late = limits.windows.unbind(-1)  # (B, M) each
    has_times = (early > 0).any(1) | late.isfinite().any(1) | limits.longest_duration.isfinite()  # (B,)
    # no vehicle gains by leaving earlier than the first customer needs
    useful = torch.where(is_customer, (early - times[:, 0]).maximum(early[:, :1]), torch.inf).amin(1)  # (B,)
    day = _find_day((early - useful[:, None]).clamp(min=0), late - useful[:, None], limits.service, times, is_customer)
    route = torch.where(has_times, day, limits.longest_distance.minimum(day))  # (B,) longest in time
    length = torch.where(limits.longest_distance.isfinite(), limits.longest_distance, _sum_legs(limits.legs))
    if limits.durations is None:
        route = length = torch.where(has_times, route, length.minimum(route))
    of_length, of_time = _find_scale(length), _find_scale(route)  # (B,) ticks per unit
    pace = times.sum((1, 2)) / limits.legs.sum((1, 2)).clamp(min=1e-300)  # time per length; 1 if they are the same
    wide = of_time[:, None]
    begin = (useful[:, None] * wide).floor()  # whole ticks, so that other times keep theirs
    return RuleBatch(
        names=frozenset(names),
        legs=_round(limits.legs * of_length[:, None, None], torch.ceil),
        durations=_round(times * wide[..., None], torch.ceil),
        row=torch.arange(len(early), device=early.device),
        pickups=limits.pickups,
        early=_round((early * wide).ceil() - begin, torch.ceil).clamp(min=0),
        late=_round((late * wide).floor() - begin, torch.floor),
        service=_round(limits.service * wide, torch.ceil),
        longest_distance=_round(limits.longest_distance * of_length, torch.floor),
        longest_duration=_round(limits.longest_duration * of_time, torch.floor),
        is_open=limits.is_open,
        is_last=limits.is_last,
        has_times=has_times,
        per_length=limits.extent * of_length,
        per_time=limits.extent * pace * of_time,
        day=(day * of_time).clamp(min=1.0, max=NEVER),
    )


def _round(ticks: Tensor, way: Callable[[Tensor], Tensor]) -> Tensor:
    """Make int32 ticks, `NEVER` where there are too many."""
    return way(ticks).clamp(min=-1, max=NEVER).int()


def _find_scale(longest: Tensor) -> Tensor:
    """Find the (B,) ticks per unit, powers of 2, so that whole numbers stay exact."""
    return torch.exp2((_TICKS / longest.clamp(min=1e-300, max=1e300)).log2().floor())


def _sum_legs(legs: Tensor) -> Tensor:
    """(B,) more than any route's length."""
    return 2 * legs.amax(2).sum(1)


def _find_day(early: Tensor, late: Tensor, service: Tensor, times: Tensor, is_customer: Tensor) -> Tensor:
    """Find (B,) times when all vehicles are back: when the depot closes, or when the last possible route ends."""
    longest_way = times.amax((1, 2))  # (B,)
    last = torch.where(is_customer, late, 0.0).amax(1) + service.amax(1) + longest_way  # (B,)
    whole = early.amax(1) + service.sum(1) + _sum_legs(times)
    return late[:, 0].minimum(last).minimum(whole)


def find_rules(instance: Instance) -> frozenset[str]:
    """Find the names of an instance's rules, of those in `RULE_WORDS`.

    Raises
    ------
    UnsupportedError
        If it has a rule that no policy knows; the error names it.
    """
    refuse_other_rules(instance.rules, _KNOWN, "a policy")
    kind = instance.fleet[0]
    for field, is_there, what in (
        ("count", any(each.count is not None for each in instance.fleet), "a limited number of vehicles"),
        ("max_stops", any(each.max_stops is not None for each in instance.fleet), "a limited number of stops"),
        ("vehicles", len({_without_capacity(each) for each in instance.fleet}) > 1, "types with different limits"),
        ("distances", _has_one_way_distances(instance), "one-way distances"),
    ):
        if is_there:
            raise UnsupportedError.about(
                field, f"a policy cannot handle {what}.", "Give a time limit, to search it on the CPU without a policy."
            )
    found = {
        "windows": instance.windows is not None or kind.shift is not None,
        "open": kind.end == "open",
        "distance": kind.max_distance is not None,
        "duration": kind.max_duration is not None,
        "backhauls": "backhauls_last" in instance.rules,
        "pickups": "pickups" in instance.rules and "backhauls_last" not in instance.rules,
        "types": len({each.capacities for each in instance.fleet}) > 1,
    }
    return frozenset(name for name, is_there in found.items() if is_there)


def _without_capacity(kind: VehicleType) -> VehicleType:
    return replace(kind, capacity=1, name="", count=None)


def _has_one_way_distances(instance: Instance) -> bool:
    return instance.distances is not None and not np.array_equal(instance.distances, instance.distances.T)


def read_rules(instances: Sequence[Instance], locations: NDArray[np.float64], names: Collection[str]) -> RuleBatch:
    """Measure the rules of instances of any sizes, padded to the largest.

    Parameters
    ----------
    instances
        Instances whose rules `find_rules` knows.
    locations
        (B, M, 2) positions in the unit square.
    names
        Names of all their rules.
    """
    count, nodes = locations.shape[:2]
    legs, durations = np.zeros((2, count, nodes, nodes))
    windows, service = np.tile([0.0, np.inf], (count, nodes, 1)), np.zeros((count, nodes))
    pickups = np.zeros((count, nodes), dtype=np.int32)
    for row, instance in enumerate(instances):
        own, kind = slice(instance.size + 1), instance.fleet[0]
        legs[row, own, own] = instance.distance_matrix
        durations[row, own, own] = _list_durations(instance)
        if instance.windows is not None:
            windows[row, own] = instance.windows
        if instance.service is not None and instance.has_times:
            service[row, own] = instance.service
        if instance.pickups is not None:
            pickups[row, own] = instance.pickups
        if kind.end == "open":
            windows[row, 0, 1] = np.inf
        if kind.shift is not None:
            windows[row, 0] = max(windows[row, 0, 0], kind.shift[0]), min(windows[row, 0, 1], kind.shift[1])
    kinds = [instance.fleet[0] for instance in instances]
    sizes = torch.tensor([instance.size for instance in instances])
    node = torch.arange(nodes)
    is_customer = (node > 0) & (node <= sizes[:, None])  # (B, M)
    limits = Limits(
        legs=torch.from_numpy(legs),
        durations=None if np.array_equal(legs, durations) else torch.from_numpy(durations),
        windows=torch.from_numpy(windows),
        service=torch.from_numpy(service),
        pickups=torch.from_numpy(pickups),
        longest_distance=_list_limits([kind.max_distance for kind in kinds]),
        longest_duration=_list_limits([kind.max_duration for kind in kinds]),
        is_open=torch.tensor([kind.end == "open" for kind in kinds]),
        is_last=torch.tensor(["backhauls_last" in instance.rules for instance in instances]),
        extent=_find_extents(torch.from_numpy(legs), torch.from_numpy(locations), is_customer),
    )
    return measure_rules(limits, is_customer, names)


def _find_extents(legs: Tensor, locations: Tensor, is_customer: Tensor) -> Tensor:
    """Find (B,) units of length that make the unit square's side, from the ways to the depot."""
    seen = (locations - locations[:, :1]).norm(dim=-1) * is_customer  # (B, M)
    extents: Tensor = (legs[:, 0] * is_customer).sum(1) / seen.sum(1)  # (B,)
    return torch.where((extents > 0) & extents.isfinite(), extents, 1.0)


def _list_durations(instance: Instance) -> NDArray[np.float64]:
    if not instance.has_times or instance.speed == 1:
        return instance.distance_matrix
    node = np.arange(instance.size + 1)
    return instance.leg_durations(node[:, None], node)


def _list_limits(limits: Sequence[float | None]) -> Tensor:
    return torch.tensor([np.inf if limit is None else limit for limit in limits], dtype=torch.float64)
