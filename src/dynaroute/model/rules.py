"""Rules beyond capacity: how a vehicle's state changes, where it may go, and what the policy sees of that.

The state of a vehicle extends D_t of eq 21. All of it is reset at the depot, so the remaining nodes may still be
encoded anew there (eq 22), whatever was driven before. All of it is whole numbers.

With c the work since the departure (driving and service) and W the least departure after which nobody waits any more,
the clock is c + W. A leg of a ticks to a customer whose window begins at e makes c' = c + a and W' = max(W, e - c'):
the clock is the function t -> max(t + a, e). Written so, all states of a known route are running sums and running
maxima (`SegmentRules.follow`), which replay needs, and `SegmentRules.visit` one after the other gives the same numbers.
A vehicle that is at the end as early as can be may depart as late as min(W, L), where L is the least of the window ends
minus c'.

Loads: R_d is the room for more deliveries, which are on board from the depot on, and R_p that for pickups. A stop with
delivery d and pickup p makes R_p' = R_p - p and R_d' = min(R_d - d, R_p'); both must stay at 0 or more. Without
pickups, R_d is D_t.

Where there are several depots, the first step of a route may be one of them, at no cost: the route then starts there
and ends there. The way home is that to the route's own depot.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dynaroute.batch.rules import NEVER, RuleBatch

STATES = 6  # what eq 12 sees of a vehicle besides D_t
MOVES = 10  # what the scores see of a step and a node


class RouteProgress(NamedTuple):
    """How far P vehicles are on their routes, in each of S steps: (P, S) int64.

    Attributes
    ----------
    deliverable, collectable
        R_d and R_p: room for deliveries, and for pickups.
    worked
        c: ticks of driving and service since the departure.
    departure
        W: the least departure after which nobody waits any more.
    latest
        L: the latest departure that keeps all windows so far.
    driven
        Ticks of length.
    has_collected
        (P, S) bool: whether there was a pickup.
    base
        Slot of the depot where the route started.
    """

    deliverable: Tensor
    collectable: Tensor
    worked: Tensor
    departure: Tensor
    latest: Tensor
    driven: Tensor
    has_collected: Tensor
    base: Tensor

    def take(self, rows: Tensor) -> RouteProgress:
        """Select the (Q,) vehicles in `rows`, which may repeat."""
        return RouteProgress(*(part[rows] for part in self))


class Outlook(NamedTuple):
    """What P vehicles see in each of S steps of M nodes.

    Attributes
    ----------
    feasible
        (P, S, M) where the rules let a vehicle go, whether customers are open or not.
    states
        (P, S, `STATES`) the states of eq 12 besides D_t.
    moves
        (P, S, M, `MOVES`) quantities of a step and a node.
    """

    feasible: Tensor
    states: Tensor
    moves: Tensor

    def take(self, rows: Tensor) -> Outlook:
        """Select the (Q,) vehicles in `rows`, which may repeat."""
        return Outlook(*(part[rows] for part in self))


class Stops(NamedTuple):
    """What the rules say of nodes: (P, M), or in any shape that broadcasts with that of others.

    Attributes
    ----------
    demand, pickup, early, late, service
        int64, as in `RuleBatch`.
    home, way_home
        int64 ticks of time and length to the route's depot; 0 if routes are open.
    depot, reach
        int64, as in `RuleBatch`.
    is_customer
        bool.
    """

    demand: Tensor
    pickup: Tensor
    early: Tensor
    late: Tensor
    service: Tensor
    home: Tensor
    way_home: Tensor
    depot: Tensor
    reach: Tensor
    is_customer: Tensor


class Facts(NamedTuple):
    """What the rules say of whole instances: (P,), or in any shape that broadcasts with that of others.

    Attributes
    ----------
    capacity, closing, longest_distance, longest_duration, is_last, has_times, day
        As in `RuleBatch`; `closing` is when the depot closes.
    has_pickups
        Whether anybody gives something back.
    offers
        The depots from which somebody can be served, as bits; 0 if no instance has several.
    near_length, near_time
        One over the ticks between neighbours, of length and time; for the typical spacing of the remaining nodes.
    per_length
        As in `RuleBatch`.
    """

    capacity: Tensor
    closing: Tensor
    longest_distance: Tensor
    longest_duration: Tensor
    is_last: Tensor
    has_times: Tensor
    day: Tensor
    has_pickups: Tensor
    offers: Tensor
    near_length: Tensor
    near_time: Tensor
    per_length: Tensor


class SegmentRules(NamedTuple):
    """The rules of P segments of M slots, whose slot 0 is the depot.

    Attributes
    ----------
    batch
        The rules of all instances.
    owner
        (P,) instance of each segment.
    row
        (P,) row of each segment's instance in the tables of ways.
    nodes
        (P, M) node in each slot.
    stops
        (P, M) what the rules say of these nodes.
    facts
        (P,) what they say of the instances.
    """

    batch: RuleBatch
    owner: Tensor
    row: Tensor
    nodes: Tensor
    stops: Stops
    facts: Facts

    @classmethod
    def of(
        cls,
        batch: RuleBatch,
        owner: Tensor,
        nodes: Tensor,
        demands: Tensor,
        capacity: Tensor,
        count: Tensor,
        dtype: torch.dtype,
    ) -> SegmentRules:
        """Look up what segments need.

        Parameters
        ----------
        batch
            The rules of all instances.
        owner
            (P,) instance of each segment.
        nodes
            (P, M) node in each slot; slots of padding may hold any node.
        demands
            (P, M) demands of these nodes.
        capacity
            (P,) capacity of each segment's vehicles.
        count
            (P,) number of nodes of each segment.
        dtype
            Type of what the policy sees.
        """
        of_nodes = (batch.pickups, batch.early, batch.late, batch.service, batch.depot, batch.reach)
        pickup, early, late, service, depot, reach = (
            table[owner[:, None], nodes].long() for table in of_nodes
        )  # (P, M) each
        row = batch.row[owner]  # (P,)
        returns = ~batch.is_open[owner][:, None]  # (P, 1)
        home, way_home = (
            table[row[:, None], nodes, torch.zeros_like(nodes)].long() * returns
            for table in (batch.durations, batch.legs)
        )  # (P, M) each
        is_customer = (torch.arange(nodes.shape[1], device=nodes.device) > 0) & (depot < 0)
        spread = count.double().clamp(min=1).sqrt()  # (P,)
        facts = Facts(
            capacity=capacity.long(),
            closing=batch.late[owner, 0],
            longest_distance=batch.longest_distance[owner],
            longest_duration=batch.longest_duration[owner],
            is_last=batch.is_last[owner],
            has_times=batch.has_times[owner],
            day=batch.day[owner].to(dtype),
            has_pickups=(batch.pickups > 0).any(1)[owner],
            offers=_join_bits(reach, batch.depots) if batch.depots > 1 else torch.zeros_like(row),
            near_length=(spread / batch.per_length[owner]).to(dtype),
            near_time=(spread / batch.per_time[owner]).to(dtype),
            per_length=batch.per_length[owner].to(dtype),
        )
        stops = Stops(demands.long(), pickup, early, late, service, home, way_home, depot, reach, is_customer)
        return cls(batch, owner, row, nodes, stops, facts)

    def take(self, rows: Tensor) -> SegmentRules:
        """Select the (Q,) segments in `rows`, which may repeat."""
        stops, facts = Stops(*(part[rows] for part in self.stops)), Facts(*(part[rows] for part in self.facts))
        return SegmentRules(self.batch, self.owner[rows], self.row[rows], self.nodes[rows], stops, facts)

    def begin(self) -> RouteProgress:
        """Begin routes at the depot: one step each."""
        room = self.facts.capacity[:, None]  # (P, 1)
        none = torch.zeros_like(room)
        return RouteProgress(room, room, none, none, torch.full_like(room, NEVER), none, none.bool(), none)

    def visit(self, before: RouteProgress, previous: Tensor, chosen: Tensor) -> RouteProgress:
        """Return the progress after each vehicle went from its slot to a chosen one, (P, S) each (eq 21).

        At the depot, it begins anew.
        """
        stop = Stops(*(each.gather(1, chosen) for each in self.stops))  # (P, S)
        legs, lengths = self._measure(previous, chosen)
        after = _drive(before, legs, lengths, stop)
        after = after._replace(base=torch.where(stop.depot >= 0, chosen, after.base))
        return RouteProgress(*map(torch.where, [chosen != 0] * len(after), after, self.begin()))

    def follow(self, steps: int) -> RouteProgress:
        """Return the progress at the slots 0, 1, ... of routes through slots in order: (P, S), without a loop.

        This is `visit` after `visit`: the clock is an associative scan of the functions t -> max(t + a, e), and so are
        loads with pickups.

        Parameters
        ----------
        steps
            S.
        """
        slot = torch.arange(steps, device=self.nodes.device).expand(len(self.nodes), -1)  # (P, S)
        legs, lengths = self._measure((slot - 1).clamp(min=0), slot)
        stop = Stops(*(each[:, :steps] for each in self.stops))  # (P, S)
        is_depot = slot == 0  # begins at 0, whenever it opens
        late = stop.late.masked_fill(is_depot, NEVER)
        worked = (legs + stop.service).cumsum(1)
        arrived = worked - stop.service
        delivered, collectable = stop.demand.cumsum(1), self.facts.capacity[:, None] - stop.pickup.cumsum(1)
        return RouteProgress(
            deliverable=(collectable + delivered).cummin(1).values - delivered,
            collectable=collectable,
            worked=worked,
            departure=(stop.early.masked_fill(is_depot, 0) - arrived).cummax(1).values,
            latest=(late - arrived).cummin(1).values,
            driven=lengths.cumsum(1),
            has_collected=stop.pickup.cumsum(1) > 0,
            base=((slot > 0) & (self.stops.depot[:, 1:2] >= 0)).long(),
        )

    def look(self, progress: RouteProgress, previous: Tensor) -> Outlook:
        """Look at all slots from (P, S) previous ones."""
        everywhere = torch.arange(self.nodes.shape[1], device=previous.device).expand(*previous.shape, -1)  # (P, S, M)
        legs, lengths = self._measure(previous[..., None].expand_as(everywhere), everywhere)
        before = RouteProgress(*(part[..., None] for part in progress))  # (P, S, 1)
        stop, facts = (
            Stops(*(each[:, None] for each in self.stops)),
            Facts(*(each[:, None, None] for each in self.facts)),
        )
        depot, here = (self.stops.depot.gather(1, slots)[..., None] for slots in (progress.base, previous))  # (P, S, 1)
        leg = _Leg(depot, (previous == 0)[..., None], here >= 0, everywhere == 0)
        if self.has_depots:
            home, way_home = self._measure_home(everywhere, progress.base[..., None].expand_as(everywhere))
            stop = stop._replace(home=home, way_home=way_home)  # (P, S, M) each
        after = _drive(before, legs, lengths, stop)  # (P, S, M)
        is_allowed = _allows(before, after, stop, facts, leg)
        return Outlook(is_allowed, self.describe(progress, previous), _describe_moves(before, after, stop, facts))

    def describe(self, progress: RouteProgress, previous: Tensor) -> Tensor:
        """(P, S, `STATES`): what eq 12 sees besides D_t of vehicles at (P, S) slots; 0 where there is no rule."""
        way_home = torch.zeros_like(previous)
        if self.has_depots:
            _, way_home = self._measure_home(previous, progress.base)
        return _describe_states(progress, way_home, Facts(*(each[:, None] for each in self.facts)))

    def look_at(self, progress: RouteProgress, segment: Tensor, step: Tensor, slot: Tensor) -> Outlook:
        """Look at single slots: (N,) pairs of a step of a segment, and a slot. There are no states.

        Parameters
        ----------
        progress
            (P, S) progress at all steps of all segments, which are at the slot of the same number.
        segment, step, slot
            (N,) each.
        """
        before = RouteProgress(*(part[segment, step] for part in progress))
        stop, facts = (
            Stops(*(each[segment, slot] for each in self.stops)),
            Facts(*(each[segment] for each in self.facts)),
        )
        depot, here = self.stops.depot[segment, before.base], self.stops.depot[segment, step]
        leg = _Leg(depot, step == 0, here >= 0, slot == 0)
        row, node = self.row[segment], self.nodes[segment, slot]
        ways = row, self.nodes[segment, step], node
        if self.has_depots:
            homeward = row, node, self.nodes[segment, before.base]
            returns = ~self.batch.is_open[self.owner[segment]]
            home, way_home = (table[homeward].long() * returns for table in (self.batch.durations, self.batch.legs))
            stop = stop._replace(home=home, way_home=way_home)
        after = _drive(before, self.batch.durations[ways].long(), self.batch.legs[ways].long(), stop)  # (N,)
        moves = _describe_moves(before, after, stop, facts)
        is_allowed = _allows(before, after, stop, facts, leg)
        return Outlook(is_allowed, moves.new_empty(0), moves)

    @property
    def has_depots(self) -> bool:
        """Whether some instance may have several depots."""
        return self.batch.depots > 1

    def _measure_home(self, slot: Tensor, base: Tensor) -> tuple[Tensor, Tensor]:
        """(P, ...) int64 ticks of time and length from (P, ...) slots to depots; 0 if routes are open."""
        returns = ~self.batch.is_open[self.owner].view(-1, *(1 for _ in slot.shape[1:]))
        home, way_home = self._measure(slot, base)
        return home * returns, way_home * returns

    def _measure(self, start: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
        """(P, ...) int64 ticks of time and length between (P, ...) slots."""
        row = self.row.view(-1, *(1 for _ in start.shape[1:]))
        first, last = (self.nodes.gather(1, slots.flatten(1)).view_as(slots) for slots in (start, end))
        return self.batch.durations[row, first, last].long(), self.batch.legs[row, first, last].long()


def _drive(before: RouteProgress, legs: Tensor, lengths: Tensor, stop: Stops) -> RouteProgress:
    """Drive to a stop and serve it."""
    arrived = before.worked + legs
    collectable = before.collectable - stop.pickup
    return RouteProgress(
        deliverable=(before.deliverable - stop.demand).minimum(collectable),
        collectable=collectable,
        worked=arrived + stop.service,
        departure=before.departure.maximum(stop.early - arrived),
        latest=before.latest.minimum(stop.late - arrived),
        driven=before.driven + lengths,
        has_collected=before.has_collected | (stop.pickup > 0),
        base=before.base,
    )


def _join_bits(words: Tensor, bits: int) -> Tensor:
    """(P,) all bits of (P, M) words together."""
    return torch.stack([((words >> bit) & 1).amax(1) << bit for bit in range(bits)]).sum(0)


class _Leg(NamedTuple):
    """What matters of a leg where there are several depots.

    Attributes
    ----------
    depot
        Number of the depot where the route started.
    is_first, is_start
        Whether it leaves node 0, or any depot.
    is_return
        Whether it ends the route.
    """

    depot: Tensor
    is_first: Tensor
    is_start: Tensor
    is_return: Tensor


def _allows(before: RouteProgress, after: RouteProgress, stop: Stops, facts: Facts, leg: _Leg) -> Tensor:
    """Find where a vehicle may go (eqs 14 and 19).

    From a depot it may go to all who can be served alone from there, and first of all to another depot from which
    somebody can be.
    """
    offered = torch.where(stop.is_customer, stop.reach >> leg.depot, facts.offers >> stop.depot.clamp(min=0)) & 1 > 0
    may_begin = offered & (stop.is_customer | leg.is_first)
    return torch.where(leg.is_start, may_begin, leg.is_return | (stop.is_customer & _keeps(before, after, stop, facts)))


def _keeps(before: RouteProgress, after: RouteProgress, stop: Stops, facts: Facts) -> Tensor:
    """Whether all rules are kept if a stop is served and the vehicle drives home."""
    start = after.worked - stop.service + after.departure
    return (
        (after.deliverable >= 0)
        & (start <= stop.late)
        & (after.worked + after.departure + stop.home <= facts.closing)
        & (after.driven + stop.way_home <= facts.longest_distance)
        & (_count_duration(after) + stop.home <= facts.longest_duration)
        & ~(facts.is_last & before.has_collected & (stop.demand > 0))
    )


def _describe_states(progress: RouteProgress, way_home: Tensor, facts: Facts) -> Tensor:
    """(..., `STATES`): what eq 12 sees besides D_t; `way_home` is 0 unless there are several depots."""
    dtype = facts.day.dtype
    states = [
        progress.collectable.to(dtype) / facts.capacity * facts.has_pickups,
        (progress.worked + progress.departure) / facts.day * facts.has_times,
        (facts.longest_distance - progress.driven) / facts.per_length * (facts.longest_distance < NEVER),
        (facts.longest_duration - _count_duration(progress)) / facts.day * (facts.longest_duration < NEVER),
        progress.has_collected,
        way_home / facts.per_length,
    ]
    return torch.stack([part.to(dtype) for part in states], -1)


def _describe_moves(before: RouteProgress, after: RouteProgress, stop: Stops, facts: Facts) -> Tensor:
    """(..., `MOVES`): arrival, waiting, slacks, the way home and loads after; 0 where there is no rule.

    Differences of times and lengths are logarithms, in units of the typical spacing of the remaining nodes.
    """
    start = after.worked - stop.service + after.departure
    dtype, is_far = facts.day.dtype, facts.longest_distance < NEVER
    time_left = facts.longest_duration - _count_duration(after) - stop.home

    def left(ticks: Tensor, near: Tensor) -> Tensor:
        return (ticks.clamp(min=0) * near).log1p()

    moves = [
        left(start - before.worked - before.departure, facts.near_time) * facts.has_times,
        left(after.departure - before.departure, facts.near_time) * facts.has_times,
        left(stop.late - start, facts.near_time) * (stop.late < facts.day),
        left(facts.closing - after.worked - after.departure - stop.home, facts.near_time) * (facts.closing < NEVER),
        stop.way_home / facts.per_length * (facts.has_times | is_far),
        left(facts.longest_distance - after.driven - stop.way_home, facts.near_length) * is_far,
        left(time_left, facts.near_time) * (facts.longest_duration < NEVER),
        after.deliverable.to(dtype) / facts.capacity * facts.has_pickups,
        after.collectable.to(dtype) / facts.capacity * facts.has_pickups,
        after.has_collected & ~before.has_collected,
    ]
    shape = after.worked.shape
    return torch.stack([(part * stop.is_customer).expand(shape).to(dtype) for part in moves], -1)


def _count_duration(progress: RouteProgress) -> Tensor:
    """Count ticks from the latest departure that does not delay the end."""
    return progress.worked + (progress.departure - progress.latest).clamp(min=0)
