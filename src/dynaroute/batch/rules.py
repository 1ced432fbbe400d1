"""What routes must keep besides capacity, as tensors: time windows, limits, open routes, pickups and several depots.

Times and lengths are whole *ticks*, so that every device decides alike. A leg is rounded up, a window begins rounded up
and ends rounded down, limits are rounded down: what is feasible in ticks is feasible in truth. There are so many ticks
to a unit that the longest possible route fits in 31 bits.

Further depots are nodes behind the customers. A route that starts at one of them goes there from node 0 first, at no
cost: ways between depots take 0 ticks.
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
from dynaroute.problem.places import DEPOT
from dynaroute.problem.rules import refuse_other_rules

RULE_WORDS: dict[str, str] = {
    "windows": "time windows",
    "open": "open routes",
    "distance": "longest distances",
    "duration": "longest durations",
    "backhauls": "backhauls after all deliveries",
    "pickups": "loads that are brought back",
    "types": "several vehicle types",
    "depots": "several depots",
}
NEVER = 1 << 30  # ticks: later than any route ends
KINDS = 128  # combinations of rules
FEATURES = 6  # what eq 2 sees of a node besides position and demand

_TICKS = 1 << 29  # of the longest route
_MOST_DEPOTS = 30  # one bit each
_KNOWN = frozenset({"pickups", "backhauls_last", "places"})  # of `Instance.rules`
_TABLES = ("legs", "durations")  # shared by all copies of an instance


@dataclass(frozen=True, eq=False)
class RuleBatch:
    """The rules of B instances with M nodes, copies of I instances.

    Times begin when a vehicle may leave the depot at the earliest to any use.

    Attributes
    ----------
    names
        Names of the rules that some instance may have, of those in `RULE_WORDS`.
    depots
        Number of depots that an instance may have.
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
    depot
        (B, M) int32: the vehicle type that starts at a node; -1 where none does.
    reach
        (B, M) int32: bit k says whether a vehicle of type k can serve a customer alone; 0 for other nodes.
    """

    names: frozenset[str]
    depots: int
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
    depot: Tensor
    reach: Tensor

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
    def is_further_depot(self) -> Tensor:
        """(B, M) whether a node is a depot, but not the first."""
        return (self.depot >= 0) & (torch.arange(self.depot.shape[1], device=self.depot.device) > 0)

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
            self.is_further_depot.any(1),
        )
        return torch.stack([flag.long() << place for place, flag in enumerate(flags)]).sum(0)

    def features(self, instance: Tensor, node: Tensor, capacity: Tensor) -> Tensor:
        """(T, `FEATURES`) what eq 2 sees of T nodes besides position and demand; all 0 where there is no rule.

        A customer's are its pickup, window, service, and whether it has a window. The depot's are the facts of its
        instance: open routes, backhauls last, the longest distance, the day's length, the longest duration, and whether
        it is a further depot.

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
        is_further = (self.depot.flatten()[flat] >= 0) & (node > 0)  # (T,)
        none = torch.zeros_like(day)[:, None]
        of_customer = torch.cat([(pickup / capacity)[:, None], times * has_times[:, None], none], 1)  # (T, 6)
        limit, duration = self.longest_distance[instance], self.longest_duration[instance]
        of_depot = torch.stack(
            [
                self.is_open[instance],
                self.is_last[instance],
                torch.where(limit < NEVER, limit / self.per_length[instance], 0.0),
                torch.where(has_times, (day / self.per_time[instance]).log1p(), 0.0),
                torch.where(duration < NEVER, duration / day, 0.0),
                is_further,
            ],
            1,
        )  # (T, 6)
        return torch.where((is_further | (node == 0))[:, None], of_depot, of_customer)


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
    depot
        (B, M) int32 see `RuleBatch`.
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
    depot: Tensor

    def find_reach(self, times: Tensor, is_customer: Tensor) -> Tensor:
        """Find which customers a vehicle of each depot can serve alone: see `RuleBatch.reach`.

        That each can be served from somewhere is known, so rounding is left to the depot with the most room.

        Parameters
        ----------
        times
            (B, M, M).
        is_customer
            (B, M).
        """
        early, late = self.windows.unbind(-1)  # (B, M) each
        returns = torch.where(self.is_open, 0.0, 1.0)[:, None, None]
        back = times.transpose(1, 2) * returns  # (B, depot, customer)
        start = (early[:, :1, None] + times).maximum(early[:, None])
        room = torch.stack(
            [
                late[:, None] - start,
                late[:, :1, None] - (start + self.service[:, None] + back),
                self.longest_distance[:, None, None] - (self.legs + self.legs.transpose(1, 2) * returns),
                self.longest_duration[:, None, None] - (times + self.service[:, None] + back),
            ]
        ).amin(0)  # (B, depot, customer)
        room = room.masked_fill((self.depot < 0)[..., None], -torch.inf)
        reaches = (room >= 0) | (room == room.amax(1, keepdim=True)) & (self.depot >= 0)[..., None]
        bit = torch.ones_like(self.depot) << self.depot.clamp(min=0)
        return (reaches * bit[..., None]).sum(1, dtype=torch.int32) * is_customer


def measure_rules(limits: Limits, is_customer: Tensor, names: Collection[str], depots: int = 1) -> RuleBatch:
    """Measure rules in ticks, on any device, without waiting for it.

    Parameters
    ----------
    limits
        The rules.
    is_customer
        (B, M) false for depots and padding.
    names
        Names of the rules that some instance may have.
    depots
        Number of depots that an instance may have.
    """
    times = limits.legs if limits.durations is None else limits.durations  # (B, M, M)
    early, late = limits.windows.unbind(-1)  # (B, M) each
    has_times = (early > 0).any(1) | late.isfinite().any(1) | limits.longest_duration.isfinite()  # (B,)
    longest = torch.where((limits.depot >= 0)[..., None], times, 0.0).amax(1)  # (B, M) from any depot
    # no vehicle gains by leaving earlier than the first customer needs
    useful = torch.where(is_customer, (early - longest).maximum(early[:, :1]), torch.inf).amin(1)  # (B,)
    day = _find_day((early - useful[:, None]).clamp(min=0), late - useful[:, None], limits.service, times, is_customer)
    route = torch.where(has_times, day, limits.longest_distance.minimum(day))  # (B,) longest in time
    length = torch.where(limits.longest_distance.isfinite(), limits.longest_distance, _sum_legs(limits.legs))
    if limits.durations is None:
        route = length = torch.where(has_times, route, length.minimum(route))
    of_length, of_time = _find_scale(length), _find_scale(route)  # (B,) ticks per unit
    pace = times.sum((1, 2)) / limits.legs.sum((1, 2)).clamp(min=1e-300)  # time per length; 1 if they are the same
    wide = of_time[:, None]
    begin = (useful[:, None] * wide).floor()  # whole ticks, so that other times keep theirs
    is_between_depots = (limits.depot >= 0)[:, :, None] & (limits.depot >= 0)[:, None]  # (B, M, M)
    return RuleBatch(
        names=frozenset(names),
        depots=depots,
        legs=_round(limits.legs * of_length[:, None, None], torch.ceil).masked_fill(is_between_depots, 0),
        durations=_round(times * wide[..., None], torch.ceil).masked_fill(is_between_depots, 0),
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
        depot=limits.depot,
        reach=limits.find_reach(times, is_customer) if depots > 1 else is_customer.int(),
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
        ("vehicles", len({_without_start(each) for each in instance.fleet}) > 1, "types with different limits"),
        (
            "places",
            not _has_usual_depots(instance),
            "depots other than one type of vehicle at each, all with the same hours",
        ),
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
        "depots": len(set(instance.start_nodes)) > 1,
    }
    return frozenset(name for name, is_there in found.items() if is_there)


def _without_start(kind: VehicleType) -> VehicleType:
    end = "open" if kind.end == "open" else DEPOT
    return replace(kind, capacity=1, name="", count=None, start=DEPOT, end=end)


def _has_usual_depots(instance: Instance) -> bool:
    """Whether vehicles start at the first depot, or one type at each depot with the same hours; and return there."""
    starts, types = instance.start_nodes, len(instance.fleet)
    hours = {tuple(instance.windows_of(node)) for node in starts}
    is_one_of_each = 0 in starts and len(set(starts)) == types <= _MOST_DEPOTS and len(hours) == 1
    is_alike = len({each.capacities for each in instance.fleet}) == 1
    returns = all(end in (-1, start) for start, end in zip(starts, instance.end_nodes, strict=True))
    return returns and (set(starts) == {0} or (is_one_of_each and is_alike))


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
    depot = np.full((count, nodes), -1, dtype=np.int32)
    for row, instance in enumerate(instances):
        own, every, kind = slice(instance.size + 1), slice(instance.node_count), instance.fleet[0]
        legs[row, every, every] = instance.distance_matrix
        durations[row, every, every] = _list_durations(instance)
        if instance.windows is not None:
            windows[row, own] = instance.windows
        if instance.service is not None and instance.has_times:
            service[row, own] = instance.service
        if instance.pickups is not None:
            pickups[row, own] = instance.pickups
        for number, start in reversed(list(enumerate(instance.start_nodes))):  # the first of several types
            depot[row, start] = number
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
        depot=torch.from_numpy(depot),
    )
    depots = max(len(instance.fleet) for instance in instances) if "depots" in names else 1
    return measure_rules(limits, is_customer, names, depots)


def _find_extents(legs: Tensor, locations: Tensor, is_customer: Tensor) -> Tensor:
    """Find (B,) units of length that make the unit square's side, from the ways to the depot."""
    seen = (locations - locations[:, :1]).norm(dim=-1) * is_customer  # (B, M)
    extents: Tensor = (legs[:, 0] * is_customer).sum(1) / seen.sum(1)  # (B,)
    return torch.where((extents > 0) & extents.isfinite(), extents, 1.0)


def _list_durations(instance: Instance) -> NDArray[np.float64]:
    if not instance.has_times or instance.speed == 1:
        return instance.distance_matrix
    node = np.arange(instance.node_count)
    return instance.leg_durations(node[:, None], node)


def _list_limits(limits: Sequence[float | None]) -> Tensor:
    return torch.tensor([np.inf if limit is None else limit for limit in limits], dtype=torch.float64)
