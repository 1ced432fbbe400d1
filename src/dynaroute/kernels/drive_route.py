"""One route of every trajectory, for instances of any size: nodes pass by in blocks (eqs 2, 12 to 21).

A segment holds what is left of a trajectory: row 0 the depot, then the customers in the order of their numbers.
"""

from __future__ import annotations

import triton
import triton.language as tl

from dynaroute.kernels.arithmetic import draw_gumbel, find_feasible, grow, log_distance, loop_end, tanh

__all__ = ["drive_routes", "lay_out_tokens"]

# columns of the projections, in the order of `Decoder.fold`: the key is the first
_VALUE, _LOGIT_KEY, _GRAPH, _LAST, _COLUMNS = (tl.constexpr(128 * number) for number in range(1, 6))
# how far a head's largest score may be from what it is compared with: e^11 fits in float16, and so does, with all
# digits, what weighs a sixtieth of e^-5.5
_MOST, _LEAST = tl.constexpr(11.0), tl.constexpr(-5.5)


@triton.jit(do_not_specialize=["nodes"])
def lay_out_tokens(
    locations,  # (B, N, 2) float32
    demands,  # (B, N) int32
    capacity,  # (B,) int32
    left_nodes,  # (B, N) int32: the customers left, from column 1
    trajectories,  # (P,) int64
    offsets,  # (P,) int64
    lengths,  # (P,) tokens of each segment, 0 if the trajectory is finished
    customer_table,  # (4, 512) float32: 128 columns of h^0, 384 of its products with W^Q, W^K, W^V of the first layer
    depot_table,  # (4, 512) likewise
    hidden,  # (T, 128) result
    packed,  # (T, 384) result
    token_nodes,  # (T,) int32 result
    open_demands,  # (T,) int32 result; -1 for the depot
    positions,  # (T, 2) float32 result, if IS_BIASED
    nodes,
    IS_BIASED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One program a segment and block of its tokens: eqs 2 and 3, and what the drivers need to know of a node.

    Both equations are linear, so that both results are products of (x, y, demand / capacity, 1) with a table.
    Twins: `dynaroute.model.encoder.Encoder.embed`, and `AttentionLayer.attention` up to eq 3.
    """
    segment = tl.program_id(0)
    count = tl.load(lengths + segment).to(tl.int32)
    row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    if tl.program_id(1) * BLOCK < count:
        is_row = row < count
        is_customer = is_row & (row > 0)
        trajectory = tl.load(trajectories + segment)
        table = trajectory * nodes
        node = tl.load(left_nodes + table + row, mask=is_customer, other=0)
        demand = tl.load(demands + table + node, mask=is_row, other=0)
        token = tl.load(offsets + segment) + row
        tl.store(token_nodes + token, node, mask=is_row)
        tl.store(open_demands + token, tl.where(is_customer, demand, -1), mask=is_row)
        x = tl.load(locations + (table + node) * 2, mask=is_row, other=0.0)
        y = tl.load(locations + (table + node) * 2 + 1, mask=is_row, other=0.0)
        if IS_BIASED:
            tl.store(positions + token * 2, x, mask=is_row)
            tl.store(positions + token * 2 + 1, y, mask=is_row)
        fraction = demand.to(tl.float32) / tl.load(capacity + trajectory).to(tl.float32)
        dim = tl.arange(0, 128)
        for part in tl.static_range(4):
            columns = _multiply(x, y, fraction, customer_table + part * 128)  # (BLOCK, 128)
            if tl.program_id(1) == 0:  # where the depot is
                depot = _multiply(x, y, fraction, depot_table + part * 128)
                columns = tl.where((row > 0)[:, None], columns, depot)
            columns = columns.to(hidden.dtype.element_ty)
            if part == 0:
                tl.store(hidden + token[:, None] * 128 + dim[None, :], columns, mask=is_row[:, None])
            else:
                cell = token[:, None] * 384 + (part - 1) * 128 + dim[None, :]
                tl.store(packed + cell, columns, mask=is_row[:, None])


@triton.jit
def _multiply(x, y, fraction, table):
    """(BLOCK, 128): what is known of nodes times 128 columns of a table."""
    column = table + tl.arange(0, 128)
    from_x = x[:, None] * tl.load(column)[None, :]
    from_y = y[:, None] * tl.load(column + 512)[None, :]
    return from_x + from_y + fraction[:, None] * tl.load(column + 1024)[None, :] + tl.load(column + 1536)[None, :]


@triton.jit(do_not_specialize=["nodes", "routes_done"])  # one compilation for all batches and routes
def drive_routes(
    projected,  # (T, 640): key, value, logit key, graph and last of every token
    token_nodes,  # (T,) int32
    open_demands,  # (T,) int32, -1 for the depot; becomes -1 where visited
    positions,  # (T, 2) float32, if IS_BIASED
    trajectories,  # (P,) int64
    offsets,  # (P,) int64
    lengths,  # (P,) tokens of each segment, 0 if the trajectory is finished
    capacity,  # (B,) int32
    sizes,  # (B,) int64
    starts,  # (B,) int64 first customers, if IS_FORCED
    stream_keys,  # (B, 2) int64, if IS_SAMPLED
    capacity_query,  # (128,) float32
    distance_weight,  # (9,) float32, if IS_BIASED
    left,  # (B,) int32 result: how many customers are left
    left_nodes,  # (B, N) int32 result: which, from column 1
    counts,  # (3,) int32 result: unfinished trajectories, their tokens, tokens of the longest
    route,  # (B, N) int32 result
    position,  # (B, N) int32 result
    nodes,
    routes_done,
    temperature,
    clip,
    IS_DYNAMIC: tl.constexpr,
    SHRINKS: tl.constexpr,
    GROWS: tl.constexpr,
    IS_BIASED: tl.constexpr,
    IS_SAMPLED: tl.constexpr,
    IS_FORCED: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK: tl.constexpr,
    STAGES: tl.constexpr,
):
    """One program a trajectory: drive until the depot, or, if the policy is static, until nothing is left.

    A step reads all rows twice: for the glimpse, then for the logits. With a query's heads side by side in a
    block-diagonal matrix, scores, glimpse and logits are products for the tensor cores, an eighth of which is
    needed; that is a fifth of the instructions that multiplying by hand takes. Each of BLOCK lanes keeps its own
    best node; they meet once a step. Twin: `dynaroute.construct.eager`.
    """
    segment = tl.program_id(0)
    count = tl.load(lengths + segment).to(tl.int32)
    if count > 0:
        start = tl.load(offsets + segment)
        projected += start * _COLUMNS
        token_nodes += start
        open_demands += start
        positions += start * 2
        trajectory = tl.load(trajectories + segment)
        full = tl.load(capacity + trajectory)
        column = tl.arange(0, 128)  # head after head
        from_capacity = tl.load(capacity_query + column)
        lane = tl.arange(0, BLOCK)
        if IS_SAMPLED:
            first_key = tl.load(stream_keys + trajectory * 2).to(tl.uint32)
            second_key = tl.load(stream_keys + trajectory * 2 + 1).to(tl.uint32)
        if IS_FORCED:
            forced = tl.load(starts + trajectory).to(tl.int32)  # at first, rows are nodes

        customers_left = count - 1
        step = tl.load(sizes + trajectory).to(tl.int32) - customers_left + routes_done
        stop, remaining, previous = 0, full, 0
        graph_sum = _sum_rows(projected + _GRAPH, count, BLOCK)  # (128,)
        level = tl.zeros((8,), tl.float32)  # of the scores of each head
        last = tl.load(projected + _LAST + column)  # of the depot
        is_driving = customers_left > 0
        while is_driving:
            # eqs 12 and 13
            graph_count = count
            if SHRINKS:
                graph_count = customers_left + 1
            fraction = remaining.to(tl.float32) / full.to(tl.float32)
            query = graph_sum / graph_count.to(tl.float32) + last.to(tl.float32) + fraction * from_capacity  # (128,)

            if GROWS:
                query = query * grow(count)

            glimpse, level = _attend(
                projected, open_demands, positions, distance_weight, query, level, count, remaining, previous,
                IS_BIASED, PRECISION, BLOCK, STAGES,
            )  # (128,), (8,)  # fmt: skip
            glimpse = _by_heads(glimpse).to(projected.dtype.element_ty)
            best_score = tl.full((BLOCK,), float("-inf"), tl.float32)
            best_row = tl.zeros((BLOCK,), tl.int32)
            for first in tl.range(0, loop_end(count), BLOCK, num_stages=STAGES):
                row = first + lane
                is_feasible = _is_feasible(open_demands, row, count, remaining, previous)
                logit_key = _load_rows(projected + _LOGIT_KEY, tl.where(is_feasible, row, 0))
                product = tl.sum(tl.dot(logit_key, glimpse, input_precision=PRECISION), 1)  # (BLOCK,)
                if IS_BIASED:
                    product += tl.load(distance_weight + 8) * _measure(positions, row, previous, count)
                score = clip * tanh(product)  # eq 19
                if IS_SAMPLED:
                    node = tl.load(token_nodes + row, mask=row < count, other=0)
                    score = score / temperature + draw_gumbel(first_key, second_key, step, node)
                is_better = is_feasible & (score > best_score)
                best_score = tl.where(is_better, score, best_score)
                best_row = tl.where(is_better, row, best_row)
            # ties go to the lower row
            chosen = tl.min(tl.where(best_score == tl.max(best_score, 0), best_row, count), 0)
            if IS_FORCED:
                chosen = tl.where(step == 0, forced, chosen)

            # eq 21; what the next query is made of comes from afar, and is asked for first
            is_visit = chosen != 0
            last = tl.load(projected + chosen * _COLUMNS + _LAST + column)
            if SHRINKS:
                visited = tl.load(projected + chosen * _COLUMNS + _GRAPH + column)
            node = tl.load(token_nodes + chosen)
            demand = tl.load(open_demands + chosen)
            tl.store(route + trajectory * nodes + node, routes_done, mask=is_visit)
            tl.store(position + trajectory * nodes + node, stop, mask=is_visit)
            tl.debug_barrier()  # no thread may still want to read what is overwritten now
            tl.store(open_demands + chosen, -1)
            tl.debug_barrier()  # and every thread reads it in the next step
            if SHRINKS:
                graph_sum -= tl.where(is_visit, visited.to(tl.float32), 0.0)
            remaining = tl.where(is_visit, remaining - demand, full)
            customers_left -= is_visit.to(tl.int32)
            stop = tl.where(is_visit, stop + 1, 0)
            routes_done += tl.where(is_visit, 0, 1)
            previous = chosen
            step += 1
            is_driving = customers_left > 0
            if IS_DYNAMIC:
                is_driving = is_driving & is_visit

        _list_what_is_left(token_nodes, open_demands, left_nodes + trajectory * nodes, count, BLOCK)
        tl.store(left + trajectory, customers_left)
        if customers_left > 0:
            tl.atomic_add(counts, 1, sem="relaxed")
            tl.atomic_add(counts + 1, customers_left + 1, sem="relaxed")
            tl.atomic_max(counts + 2, customers_left + 1, sem="relaxed")


@triton.jit
def _is_own():
    """(128, 8): whether a column belongs to a head."""
    return tl.arange(0, 128)[:, None] // 16 == tl.arange(0, 8)[None, :]


@triton.jit
def _by_heads(vector):
    """(128, 8): a (128,) vector's numbers, each in its head's column, zeros elsewhere."""
    return tl.where(_is_own(), vector[:, None], 0.0)


@triton.jit
def _load_rows(columns, row):
    """(BLOCK, 128): 128 columns of some rows of the projections."""
    return tl.load(columns + row[:, None] * _COLUMNS + tl.arange(0, 128)[None, :])


@triton.jit
def _sum_rows(columns, count, BLOCK: tl.constexpr):
    """(128,) sum of 128 columns over a segment."""
    total = tl.zeros((BLOCK, 128), tl.float32)
    for first in tl.range(0, loop_end(count), BLOCK):
        row = first + tl.arange(0, BLOCK)
        block = _load_rows(columns, tl.minimum(row, count - 1))
        total += tl.where((row < count)[:, None], block, 0.0)
    return tl.sum(total, 0)


@triton.jit
def _is_feasible(open_demands, row, count, remaining, previous):
    """Eqs 14 and 19 for a block of rows; at the depot, row 0, the vehicle may not stay."""
    demand = tl.load(open_demands + row, mask=row < count, other=-1)
    return find_feasible(demand >= 0, demand, remaining, row == 0, previous != 0)


@triton.jit
def _measure(positions, row, previous, count):
    """(BLOCK,) log-distances of a block of rows from the node visited last."""
    is_row = row < count
    x = tl.load(positions + row * 2, mask=is_row, other=0.0) - tl.load(positions + previous * 2)
    y = tl.load(positions + row * 2 + 1, mask=is_row, other=0.0) - tl.load(positions + previous * 2 + 1)
    return log_distance(x, y, count)


@triton.jit
def _attend(
    projected, open_demands, positions, distance_weight, query, level, count, remaining, previous,
    IS_BIASED: tl.constexpr, PRECISION: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Eqs 14 to 16: (128,) outputs of the heads, and (8,) their largest scores.

    With z and o the sums of e^(s - m) and e^(s - m) v over all rows, a head's output is o / z for any m that is near
    its largest score: that of the step before nearly always is, and where it is not, the rows are read again. So lanes
    need not agree on anything between blocks.
    """
    query = _by_heads(query).to(projected.dtype.element_ty)
    weight_sum = tl.zeros((BLOCK, 8), tl.float32)
    total = tl.zeros((128, 8), tl.float32)
    is_far = True
    while is_far:
        highest = tl.full((BLOCK, 8), -1.0e30, tl.float32)
        weight_sum = tl.zeros((BLOCK, 8), tl.float32)
        total = tl.zeros((128, 8), tl.float32)
        for first in tl.range(0, loop_end(count), BLOCK, num_stages=STAGES):
            row = first + tl.arange(0, BLOCK)
            is_feasible = _is_feasible(open_demands, row, count, remaining, previous)
            near_row = tl.where(is_feasible, row, 0)  # what is not feasible is not fetched
            key = _load_rows(projected, near_row)
            value = _load_rows(projected + _VALUE, near_row)
            score = tl.dot(key, query, input_precision=PRECISION)  # (BLOCK, 8)
            if IS_BIASED:
                weights = tl.load(distance_weight + tl.arange(0, 8))
                score += _measure(positions, row, previous, count)[:, None] * weights[None, :]
            score = tl.where(is_feasible[:, None], score, -1.0e30)
            highest = tl.maximum(highest, score)
            weight = tl.exp(tl.minimum(score - level[None, :], _MOST))  # 0 of what is not feasible
            weight_sum += weight
            total = tl.dot(tl.trans(value), weight.to(value.dtype), total, input_precision=PRECISION)
        highest_of_all = tl.max(highest, 0)
        rise = highest_of_all - level
        level = highest_of_all
        is_far = tl.max(tl.maximum(rise - _MOST, _LEAST - rise), 0) > 0.0
    weight_sum = tl.sum(weight_sum, 0)
    return tl.sum(tl.where(_is_own(), total, 0.0) / weight_sum[None, :], 1), level


@triton.jit
def _list_what_is_left(token_nodes, open_demands, left_nodes, count, BLOCK: tl.constexpr):
    """Keep the nodes that are still open, in order, from column 1."""
    listed = 0
    for first in tl.range(0, loop_end(count), BLOCK):
        row = first + tl.arange(0, BLOCK)
        is_open = tl.load(open_demands + row, mask=row < count, other=-1) >= 0
        node = tl.load(token_nodes + row, mask=is_open, other=0)
        rank = listed + tl.cumsum(is_open.to(tl.int32), 0)
        tl.store(left_nodes + rank, node, mask=is_open)
        listed += tl.sum(is_open.to(tl.int32), 0)
