"""Rules beyond capacity: how a vehicle's state changes, where it may go, and what the policy sees of that.

The state of a vehicle extends D_t of eq 21. All of it is reset at the depot, so the remaining nodes may still be
encoded anew there (eq 22), whatever was driven before. All of it is whole numbers.

With c the work since the departure (driving and service) and W the least departure after which nobody waits any more,
the clock is c + W. A leg of a ticks to a customer whose window begins at e makes c' = c + a and W' = max(W, e - c'):
the clock is the function t -> max(t + a, e). Written so, all states of a known route are running sums and running
maxima (`follow`), which replay needs, and the sequence of `Progress.visit` gives the same numbers. A vehicle that is at
the end as early as can be may depart as late as min(W, L), where L is the least of the window ends minus c'.

Loads: R_d is the room for more deliveries, which are on board from the depot on, and R_p that for pickups. A stop with
delivery d and pickup p makes R_p' = R_p - p and R_d' = min(R_d - d, R_p'); both must stay at 0 or more. Without
pickups, R_d is D_t.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dynaroute.batch.rules import NEVER, RuleBatch

__all__ = ["MOVES", "STATES", "Outlook", "Progress", "SegmentRules"]

STATES = 5  # what eq 12 sees of a vehicle besides D_t
MOVES = 10  # what the scores see of a step and a node


class Progress(NamedTuple):
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
    """

    deliverable: Tensor
    collectable: Tensor
    worked: Tensor
    departure: Tensor
    latest: Tensor
    driven: Tensor
    has_collected: Tensor


class Outlook(NamedTuple):
    """What P vehicles see in each of S steps of M nodes.

    Attributes
    ----------
    feasible
        (P, S, M) customers that the rules allow, whether open or not.
    states
        (P, S, `STATES`) float64 the states of eq 12 besides D_t.
    moves
        (P, S, M, `MOVES`) float64 quantities of a step and a node.
    """

    feasible: Tensor
    states: Tensor
    moves: Tensor


class SegmentRules(NamedTuple):
    """The rules of P segments of M slots, whose slot 0 is the depot.

    Attributes
    ----------
    batch
        The rules of all instances.
    row
        (P,) instance of each segment.
    nodes
        (P, M) node in each slot.
    demands, pickups, early, late, service
        (P, M) int64, as in `RuleBatch`.
    home, way_home
        (P, M) int64 ticks of time and length to the depot; 0 if routes are open.
    capacity
        (P,).
    spread
        (P,) the square root of the number of nodes, which makes neighbours about 1 apart.
    """

    batch: RuleBatch
    row: Tensor
    nodes: Tensor
    demands: Tensor
    pickups: Tensor
    early: Tensor
    late: Tensor
    service: Tensor
    home: Tensor
    way_home: Tensor
    capacity: Tensor
    spread: Tensor

    @classmethod
    def of(
        cls, batch: RuleBatch, row: Tensor, nodes: Tensor, demands: Tensor, capacity: Tensor, count: Tensor
    ) -> SegmentRules:
        """Look up what segments need.

        Parameters
        ----------
        batch
            The rules of all instances.
        row, nodes, demands, capacity
            See the attributes; slots of padding may hold any node.
        count
            (P,) number of nodes of each segment.
        """
        pickups, early, late, service = (
            table[row[:, None], nodes].long() for table in (batch.pickups, batch.early, batch.late, batch.service)
        )  # (P, M) each
        table_row = batch.row[row][:, None]  # (P, 1)
        returns = ~batch.is_open[row][:, None]  # (P, 1)
        home, way_home = (
            table[table_row, nodes, torch.zeros_like(nodes)].long() * returns for table in (batch.durations, batch.legs)
        )  # (P, M) each
        loads = (demands.long(), pickups)
        return cls(batch, row, nodes, *loads, early, late, service, home, way_home, capacity, count.double().sqrt())

    def begin(self) -> Progress:
        """Begin routes at the depot: one step each."""
        room = self.capacity.long()[:, None]  # (P, 1)
        none = torch.zeros_like(room)
        return Progress(room, room, none, none, torch.full_like(room, NEVER), none, none.bool())

    def visit(self, before: Progress, previous: Tensor, chosen: Tensor) -> Progress:
        """Return the progress after each vehicle went from its slot to a chosen one, (P, S) each (eq 21).

        At the depot, it begins anew.
        """
        after = Progress(*(part.squeeze(-1) for part in self._drive(before, previous, chosen[..., None])))  # (P, S)
        return Progress(*map(torch.where, [chosen != 0] * len(after), after, self.begin()))

    def follow(self, steps: int) -> Progress:
        """Return the progress at the slots 0, 1, ... of routes through slots in order: (P, S), without a loop.

        This is `visit` after `visit`: the clock is an associative scan of the functions t -> max(t + a, e), and so are
        loads with pickups.

        Parameters
        ----------
        steps
            S.
        """
        slot = torch.arange(steps, device=self.nodes.device).expand(len(self.nodes), -1)  # (P, S)
        before = (slot - 1).clamp(min=0)
        leg, length = (self._measure(table, before, slot) for table in (self.batch.durations, self.batch.legs))
        demand, pickup, early, late, service = (
            table[:, :steps].masked_fill(slot == 0, neutral)
            for table, neutral in (
                (self.demands, 0), (self.pickups, 0), (self.early, 0), (self.late, NEVER), (self.service, 0)
            )
        )  # (P, S) each  # fmt: skip
        worked = (leg + service).cumsum(1)
        arrived = worked - service
        delivered, room = demand.cumsum(1), self.capacity.long()[:, None]
        collectable = room - pickup.cumsum(1)
        return Progress(
            deliverable=(collectable + delivered).cummin(1).values - delivered,
            collectable=collectable,
            worked=worked,
            departure=(early - arrived).cummax(1).values,
            latest=(late - arrived).cummin(1).values,
            driven=length.cumsum(1),
            has_collected=pickup.cumsum(1) > 0,
        )

    def look(self, progress: Progress, previous: Tensor) -> Outlook:
        """Look at all slots from (P, S) previous ones."""
        everywhere = torch.arange(self.nodes.shape[1], device=previous.device)
        after = self._drive(progress, previous, everywhere.expand(*previous.shape, -1))  # (P, S, M) each
        is_feasible = self._allows(progress, after) | (previous == 0)[..., None]
        return Outlook(is_feasible, self._describe_states(progress), self._describe_moves(progress, after))

    def _drive(self, before: Progress, previous: Tensor, target: Tensor) -> Progress:
        """Drive from (P, S) slots to (P, S, T) others: (P, S, T)."""
        start = previous[..., None].expand_as(target)
        arrived = before.worked[..., None] + self._measure(self.batch.durations, start, target)
        demand, pickup, early, late, service = (
            self._take(table, target) for table in (self.demands, self.pickups, self.early, self.late, self.service)
        )
        collectable = before.collectable[..., None] - pickup
        return Progress(
            deliverable=(before.deliverable[..., None] - demand).minimum(collectable),
            collectable=collectable,
            worked=arrived + service,
            departure=before.departure[..., None].maximum(early - arrived),
            latest=before.latest[..., None].minimum(late - arrived),
            driven=before.driven[..., None] + self._measure(self.batch.legs, start, target),
            has_collected=before.has_collected[..., None] | (pickup > 0),
        )

    def _allows(self, before: Progress, after: Progress) -> Tensor:
        """Find the (P, S, M) customers that may be served so that the vehicle can go on (eqs 14 and 19).

        From the depot all may be, because every customer can be served alone.
        """
        table, row = self.batch, self.row[:, None, None]
        demands, late, home, way_home = (each[:, None] for each in (self.demands, self.late, self.home, self.way_home))
        start = after.worked - self.service[:, None] + after.departure
        is_after_pickup = table.is_last[row] & before.has_collected[..., None] & (demands > 0)
        return (
            (after.deliverable >= 0)
            & (start <= late)
            & (after.worked + after.departure + home <= table.late[row, 0])
            & (after.driven + way_home <= table.longest_distance[row])
            & (self._count_duration(after) + home <= table.longest_duration[row])
            & ~is_after_pickup
        )

    def _describe_states(self, progress: Progress) -> Tensor:
        """(P, S, `STATES`): what eq 12 sees besides D_t; 0 where there is no rule."""
        table, row = self.batch, self.row[:, None]
        day, has_times = table.day[row], table.has_times[row]
        length_left = table.longest_distance[row] - progress.driven
        time_left = table.longest_duration[row] - self._count_duration(progress)
        states = [
            progress.collectable / self.capacity[:, None] * self._has_pickups(row),
            (progress.worked + progress.departure) / day * has_times,
            length_left / table.per_length[row] * (table.longest_distance[row] < NEVER),
            time_left / day * (table.longest_duration[row] < NEVER),
            progress.has_collected,
        ]
        return torch.stack(states, -1)

    def _describe_moves(self, before: Progress, after: Progress) -> Tensor:
        """(P, S, M, `MOVES`): arrival, waiting, slacks, the way home and loads after; 0 where there is no rule.

        Differences of times and lengths are logarithms, in units of the typical spacing of the remaining nodes.
        """
        table, row = self.batch, self.row[:, None, None]
        home, way_home, late = self.home[:, None], self.way_home[:, None], self.late[:, None]
        near_time, near_length = (
            self.spread[:, None, None] / unit[row] for unit in (table.per_time, table.per_length)
        )  # (P, 1, 1) each
        has_times, has_pickups = table.has_times[row], self._has_pickups(row)
        is_far = table.longest_distance[row] < NEVER
        closing, longest = table.late[row, 0], table.longest_duration[row]
        start = after.worked - self.service[:, None] + after.departure
        now = (before.worked + before.departure)[..., None]

        def left(ticks: Tensor, near: Tensor) -> Tensor:
            return (ticks.clamp(min=0) * near).log1p()

        moves = [
            left(start - now, near_time) * has_times,
            left(after.departure - before.departure[..., None], near_time) * has_times,
            left(late - start, near_time) * (late < table.day[row]),
            left(closing - (after.worked + after.departure + home), near_time) * (closing < NEVER),
            way_home / table.per_length[row] * (has_times | is_far),
            left(table.longest_distance[row] - after.driven - way_home, near_length) * is_far,
            left(longest - self._count_duration(after) - home, near_time) * (longest < NEVER),
            after.deliverable / self.capacity[:, None, None] * has_pickups,
            after.collectable / self.capacity[:, None, None] * has_pickups,
            after.has_collected & ~before.has_collected[..., None],
        ]
        is_customer = torch.arange(self.nodes.shape[1], device=home.device) > 0  # (M,)
        shape = after.worked.shape
        return torch.stack([part.expand(shape).double() for part in moves], -1) * is_customer[:, None]

    def _count_duration(self, progress: Progress) -> Tensor:
        """Count ticks from the latest departure that does not delay the end."""
        return progress.worked + (progress.departure - progress.latest).clamp(min=0)

    def _has_pickups(self, row: Tensor) -> Tensor:
        return (self.batch.pickups > 0).any(1)[row]

    def _take(self, table: Tensor, slots: Tensor) -> Tensor:
        """(P, S, T) values of slots."""
        return table.gather(1, slots.flatten(1)).view_as(slots)

    def _measure(self, table: Tensor, start: Tensor, end: Tensor) -> Tensor:
        """(P, ...) int64 ticks between (P, ...) slots."""
        row = self.batch.row[self.row].view(-1, *(1 for _ in start.shape[1:]))
        first, last = (self.nodes.gather(1, slots.flatten(1)).view_as(slots) for slots in (start, end))
        return table[row, first, last].long()
