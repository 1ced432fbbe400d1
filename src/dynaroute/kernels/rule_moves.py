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
_STATES, _STATE_COLUMNS = tl.constexpr(RuleOffset.STATES), tl.constexpr(RuleOffset.STATE_COLUMNS)
_MOVES, _FEATURES = tl.constexpr(RuleOffset.MOVES), tl.constexpr(RuleOffset.FEATURES)


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


# A vehicle of the kernel that drives routes of any size, from one depot. Its state is R_d, R_p, c, W, L, the distance
# driven, whether there was a pickup, and the node; or those of all that ask, in C columns. Tables are of its instance.


@triton.jit
def add_features(features, table, is_row):
    """(BLOCK, 128): what the further features of nodes add to 128 columns, as `_multiply` does for the others."""
    column = table + tl.arange(0, 128)
    total = tl.load(features, mask=is_row, other=0.0)[:, None] * tl.load(column)[None, :]
    for number in tl.static_range(1, _FEATURES):
        feature = tl.load(features + number, mask=is_row, other=0.0)
        total += feature[:, None] * tl.load(column + 512 * number)[None, :]
    return total


@triton.jit
def visit(state, node, demand, stops, durations, legs, nodes):
    """The state after the vehicle went to a node."""
    deliverable, collectable, worked, departure, latest, driven, has_collected, previous = state
    pickup, early, late, service, _home, _way_home = load_stop(stops, node, node >= 0)
    way = previous * nodes + node
    deliverable, collectable, worked, departure, latest, driven = drive(
        tl.load(durations + way), tl.load(legs + way), deliverable, collectable, worked, departure, latest, driven,
        demand, pickup, early, late, service,
    )  # fmt: skip
    return deliverable, collectable, worked, departure, latest, driven, tl.where(pickup > 0, 1, has_collected), node


@triton.jit
def choose(column, own, after):
    """States of columns: a vehicle's own where `column` is 0, else what it is after another visit."""
    return (
        tl.where(column == 0, own[0], after[0]),
        tl.where(column == 0, own[1], after[1]),
        tl.where(column == 0, own[2], after[2]),
        tl.where(column == 0, own[3], after[3]),
        tl.where(column == 0, own[4], after[4]),
        tl.where(column == 0, own[5], after[5]),
        tl.where(column == 0, own[6], after[6]),
        tl.where(column == 0, own[7], after[7]),
    )


@triton.jit
def weigh_states(vectors, state, capacity, facts, scales, PART: tl.constexpr):
    """(128, C): what the states add to the queries (part 0) or to the heads' outputs (part 1)."""
    _deliverable, collectable, worked, departure, latest, driven, has_collected, _previous = state
    dims = tl.arange(0, 128)
    total = tl.zeros((128, 1), tl.float32) + worked.to(tl.float32)[None, :] * 0.0
    for number in tl.static_range(5):  # the last is 0 where there is one depot
        found = describe_state(
            number, collectable, worked, departure, latest, driven, has_collected, capacity, tl.load(facts + 1),
            tl.load(facts + 2), tl.load(facts + 4), tl.load(facts + 5), tl.load(scales), tl.load(scales + 1),
        )  # fmt: skip
        weight = tl.load(vectors + _STATES + (PART * 128 + dims) * _STATE_COLUMNS + number)
        total += weight[:, None] * found[None, :]
    return total


@triton.jit
def look(vectors, head, node, demand, is_row, state, capacity, facts, scales, stops, durations, legs, nodes, count):
    """(BLOCK, C): where vehicles may go by the rules, and what is added to the scores of columns' heads (8: logits)."""
    deliverable, collectable, worked, departure, latest, driven, has_collected, previous = state
    pickup, early, late, service, home, way_home = load_stop(stops, node, is_row)  # (BLOCK,) each
    way = previous[None, :] * nodes + node[:, None]  # (BLOCK, C)
    deliverable_2, collectable_2, worked_2, departure_2, latest_2, driven_2 = drive(
        tl.load(durations + way), tl.load(legs + way), deliverable[None, :], collectable[None, :], worked[None, :],
        departure[None, :], latest[None, :], driven[None, :], demand[:, None], pickup[:, None], early[:, None],
        late[:, None], service[:, None],
    )  # fmt: skip
    closing, longest_distance, longest_duration = tl.load(facts), tl.load(facts + 1), tl.load(facts + 2)
    is_allowed = allows(
        deliverable_2, worked_2, departure_2, latest_2, driven_2, has_collected[None, :], demand[:, None],
        late[:, None], service[:, None], home[:, None], way_home[:, None], closing, longest_distance,
        longest_duration, tl.load(facts + 3), (previous == 0)[None, :],
    )  # fmt: skip
    per_length, spread = tl.load(scales + 1), tl.sqrt(count.to(tl.float32))
    total = tl.zeros_like(worked_2).to(tl.float32)
    for number in tl.static_range(10):
        move = describe_move(
            number, deliverable_2, collectable_2, worked_2, departure_2, latest_2, driven_2,
            (worked + departure)[None, :], departure[None, :], has_collected[None, :], pickup[:, None], late[:, None],
            service[:, None], home[:, None], way_home[:, None], capacity, closing, longest_distance, longest_duration,
            tl.load(facts + 4), tl.load(facts + 5), tl.load(scales), per_length, spread / tl.load(scales + 2),
            spread / per_length,
        )  # fmt: skip
        weight = tl.load(vectors + _MOVES + head * 10 + number)  # (C,)
        total += weight[None, :] * tl.where((node > 0)[:, None], move, 0.0)
    return is_allowed, total
