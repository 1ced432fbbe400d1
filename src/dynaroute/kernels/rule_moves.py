"""Rules beyond capacity in kernels that build routes. Twin: `dynaroute.model.rules`, whose names are used here.

All numbers of time, length and load are int32. Values of nodes and of vehicles come in shapes that broadcast.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"

from __future__ import annotations

import triton
import triton.language as tl

_NEVER = tl.constexpr(1 << 30)


class RuleOffset:
    """Where parameters that only rules need begin in their vector; and columns of the tables of nodes and facts."""

    FEATURES = 6  # columns of what is further embedded
    DEPOT = FEATURES * 128  # after the further columns of the customers' embedding
    STATE_COLUMNS = 6
    STATES = 2 * DEPOT
    MOVES = STATES + STATE_COLUMNS * 256
    STOP_COLUMNS = 8  # pickup, early, late, service, home, way home, depot, reach
    # closing, longest distance, longest duration, last, times, pickups, row of the tables, further depots, returns
    FACT_COLUMNS = 9


_STOP_COLUMNS = tl.constexpr(RuleOffset.STOP_COLUMNS)


@triton.jit
def load_stop(rule_stops, cell, mask):
    """Pickup, early, late, service, home and way home of nodes."""
    stop = rule_stops + cell * _STOP_COLUMNS
    return (
        tl.load(stop, mask=mask, other=0),
        tl.load(stop + 1, mask=mask, other=0),
        tl.load(stop + 2, mask=mask, other=0),
        tl.load(stop + 3, mask=mask, other=0),
        tl.load(stop + 4, mask=mask, other=0),
        tl.load(stop + 5, mask=mask, other=0),
    )


@triton.jit
def drive(
    leg, length, deliverable, collectable, worked, departure, latest, driven, demand, pickup, early, late, service
):  # fmt: skip
    """Drive to a stop and serve it: the same six numbers afterwards. Twin: `_drive`."""
    arrived = worked + leg
    collected = collectable - pickup
    return (
        tl.minimum(deliverable - demand, collected),
        collected,
        arrived + service,
        tl.maximum(departure, early - arrived),
        tl.minimum(latest, late - arrived),
        driven + length,
    )


@triton.jit
def allows(
    deliverable, worked, departure, latest, driven, has_collected, demand, late, service, home, way_home, closing,
    longest_distance, longest_duration, is_last, is_start,
):  # fmt: skip
    """Whether a stop may be served, given the numbers afterwards and `has_collected` before. Twin: `_keeps`."""
    duration = worked + tl.maximum(departure - latest, 0)
    return is_start | (
        (deliverable >= 0)
        & (worked - service + departure <= late)
        & (worked + departure + home <= closing)
        & (driven + way_home <= longest_distance)
        & (duration + home <= longest_duration)
        & ((is_last == 0) | (has_collected == 0) | (demand == 0))
    )


@triton.jit
def describe_state(
    K: tl.constexpr, collectable, worked, departure, latest, driven, has_collected, capacity, longest_distance,
    longest_duration, has_times, has_pickups, day, per_length,
):  # fmt: skip
    """The K-th state of eq 12 besides D_t, where there is one depot. Twin: `_describe_states`."""
    if K == 0:
        found = collectable.to(tl.float32) / capacity.to(tl.float32) * has_pickups
    elif K == 1:
        found = (worked + departure).to(tl.float32) / day * has_times
    elif K == 2:
        found = (longest_distance - driven).to(tl.float32) / per_length * (longest_distance < _NEVER)
    elif K == 3:
        duration = worked + tl.maximum(departure - latest, 0)
        found = (longest_duration - duration).to(tl.float32) / day * (longest_duration < _NEVER)
    else:
        found = has_collected.to(tl.float32)
    return found


@triton.jit
def describe_move(
    K: tl.constexpr, deliverable, collectable, worked, departure, latest, driven, now, departure_before, has_collected,
    pickup, late, service, home, way_home, capacity, closing, longest_distance, longest_duration, has_times,
    has_pickups, day, per_length, near_time, near_length,
):  # fmt: skip
    """The K-th quantity of a step and a node, from the numbers afterwards, and from some of before.

    Twin: `_describe_moves`.
    """
    start = worked - service + departure
    if K == 0:
        found = _left(start - now, near_time) * has_times
    elif K == 1:
        found = _left(departure - departure_before, near_time) * has_times
    elif K == 2:
        found = _left(late - start, near_time) * (late.to(tl.float32) < day)
    elif K == 3:
        found = _left(closing - worked - departure - home, near_time) * (closing < _NEVER)
    elif K == 4:
        found = way_home.to(tl.float32) / per_length * ((has_times > 0) | (longest_distance < _NEVER))
    elif K == 5:
        found = _left(longest_distance - driven - way_home, near_length) * (longest_distance < _NEVER)
    elif K == 6:
        duration = worked + tl.maximum(departure - latest, 0)
        found = _left(longest_duration - duration - home, near_time) * (longest_duration < _NEVER)
    elif K == 7:
        found = deliverable.to(tl.float32) / capacity.to(tl.float32) * has_pickups
    elif K == 8:
        found = collectable.to(tl.float32) / capacity.to(tl.float32) * has_pickups
    else:
        found = ((pickup > 0) & (has_collected == 0)).to(tl.float32)
    return found


@triton.jit
def _left(ticks, near):
    return tl.log(1.0 + tl.maximum(ticks, 0).to(tl.float32) * near)
