"""The rules beyond windows and limits of vehicles, as plain arrays for compiled code.

Whether any of them applies is known when the code is compiled: a field of the problem is an empty tuple or not, and is
asked by its length. So a problem without such rules runs machine code that does not know them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CUSTOMER",
    "DELIVERY",
    "FOLLOWER",
    "FORBIDDEN",
    "FROZEN",
    "LOCKED",
    "NOTHING",
    "OFF",
    "ON",
    "PICKUP",
    "RELOAD",
    "Kinds",
    "Rules",
    "Switch",
]

FORBIDDEN = 1e12  # length and seconds of a leg that must not be driven: finite, so that sums stay numbers
CUSTOMER, PICKUP, DELIVERY, RELOAD, FOLLOWER = 0, 1, 2, 3, 4  # roles of stops; a follower comes after a locked leg
LOCKED, FROZEN = 1, 2  # ties of a stop to the one before it: it follows directly; neither of the two can move at all

Lengths = NDArray[np.float64]
Longs = NDArray[np.int64]

Switch = tuple[()] | tuple[int]
OFF: Switch = ()
ON: Switch = (1,)
NOTHING: Any = ()  # stands for arrays that a problem does not need; of a type that compiled code knows


class Kinds(NamedTuple):
    """The types of vehicles, alike ones merged; each array has one entry per type.

    Attributes
    ----------
    capacities, counts, stops
        Capacity of a vehicle, number of vehicles, and the most customers on a route.
    distances, durations
        Longest distance and longest duration of a route; infinite if unlimited.
    starts, ends
        Earliest departure, and latest end.
    end_nodes
        Node where the routes end.
    """

    capacities: Longs
    counts: Longs
    stops: Longs
    distances: Lengths
    durations: Lengths
    starts: Lengths
    ends: Lengths
    end_nodes: Longs


class Rules(NamedTuple):
    """What applies to stops and types of vehicles; an empty tuple stands for no rules at all.

    P profiles, N nodes as in `SearchProblem`, T types of vehicles, K dimensions of loads.

    Attributes
    ----------
    distances, durations
        (P, N, N) for each profile, as in `SearchProblem`.
    service
        (P, N) seconds of service.
    hours
        (P, 25) how far one is at the begin of each hour of a day, in seconds at the highest speed of the day, at which
        the durations are measured; (0, 0) if all profiles drive alike all day.
    delivered, collected
        (N, K) what a stop takes from the vehicle and what it adds. A pickup adds what its delivery takes.
    roles
        (N,) what kind of stop each node is.
    partners
        (N,) the delivery of a pickup and the other way round; 0 without, and -1 if the pickup cannot move any more.
    allowed
        (N, T) which types may serve a stop.
    windows
        (N, W, 2) the windows of each stop, in order; empty ones at the end begin at infinity.
    closes, late
        (N,) end of the last window, and price of a second of lateness after it; 0 if nobody may be late.
    release
        (N,) when the goods of a stop are there.
    breaks
        (T, B, 3) for each break in a window: its duration, and its earliest and latest start.
    rests
        (T, 2) duration of a break after driving, and the longest driving without one.
    alternatives, orders
        (N,) the next of several alternatives of which one is served, in a ring; and the first of them, by whose number
        their order is known. Both are the stop itself if there are no others. Of shipments only the pickups are linked.
    apart, next_of_group
        (N,) a label of stops that must be on different routes, 0 for none; and the next of those that must be on the
        same, in a ring.
    prizes
        (N,) price of leaving a stop out; infinite if it must be served.
    rides
        (N, 2) the delivery of each pickup with a longest ride, and how long that is; infinite without.
    lifo
        (N,) whether a shipment, at both of its stops, leaves before all such that were loaded before it.
    ties, followers
        (N,) how each stop is tied to the one before it, 0 if it is not; and the stop that follows directly after it in
        all plans if both can move, else 0.
    changes
        (N, T) price of serving a stop by another type than before.
    beginnings
        (T, L) the stops with which the route of a type begins; 0 fills up.
    balance
        (4,) what has a price as it grows (0 nothing, 1 hours, 2 stops, 3 loads), its weight, the target, and how much
        makes one unit.
    spreads
        (P, N, N) the price of the second node's distance from the first, if that is the centre of its route; (0, 0, 0)
        if compact routes have no price.
    profiles, start_nodes, classes
        (T,) profile and start of each type; types of one class differ only in capacity and prices.
    rooms
        (T, K) capacity.
    widest
        (T,) the largest capacity, in the first dimension, of a type of the same class.
    initial
        (T, K) load at the start, which stays aboard until the vehicle loads again.
    fixed, per_distance, per_second
        (T,) prices of a vehicle, of a unit of distance, and of a second from departure to end.
    overtime
        (T, 2) duration from which on each second costs more, and its price.
    driving
        (T,) longest time of driving.
    trips
        (T,) most trips of a route.
    least
        (T,) how many vehicles of each type must be used.
    sites
        (R,) the node of the instance for each of the R visits where vehicles may load again.
    customers
        Number of customers n. Stops n + 1 to n + R are visits to load again, each for one route at a time.
    has_mixed_loads
        Whether loads are more than what is delivered in one dimension.
    has_prizes
        Whether anybody may be left out.
    has_times
        Whether anything can be too late, or driving time has a limit or a price.
    """

    distances: Lengths
    durations: Lengths
    service: Lengths
    hours: Lengths
    delivered: Longs
    collected: Longs
    roles: NDArray[np.int8]
    partners: NDArray[np.int32]
    allowed: NDArray[np.bool_]
    windows: Lengths
    closes: Lengths
    late: Lengths
    release: Lengths
    breaks: Lengths
    rests: Lengths
    alternatives: NDArray[np.int32]
    orders: NDArray[np.int32]
    apart: Longs
    next_of_group: Longs
    prizes: Lengths
    rides: Lengths
    lifo: NDArray[np.bool_]
    ties: NDArray[np.int8]
    followers: NDArray[np.int32]
    changes: Lengths
    beginnings: Longs
    balance: Lengths
    spreads: Lengths
    profiles: Longs
    start_nodes: Longs
    classes: Longs
    rooms: Longs
    widest: Longs
    initial: Longs
    fixed: Lengths
    per_distance: Lengths
    per_second: Lengths
    overtime: Lengths
    driving: Lengths
    trips: Longs
    least: Longs
    sites: Longs
    customers: int
    has_mixed_loads: bool
    has_prizes: bool
    has_times: bool
