"""Whole solutions of a pointer network (RL) in one launch, for instances of any size.

A program drives a few vehicles in step. The LSTM's products are dense, with a row per vehicle. All else of a node is
affine in its position, its demand and the vehicle's load (`PointerNetwork.fold`), so nodes pass by in blocks, twice a
step, and nothing is kept of them but their demands.
"""

from __future__ import annotations

import triton
import triton.language as tl

from dynaroute.kernels.arithmetic import draw_gumbel, find_feasible, loop_end, native_tanh, tanh

# rows of `vectors`: five for each matrix of `PointerNetwork.fold`, on (x, y, 1, demand, load), then v_a and v_c
_ATTENTION, _POINTER, _CONTEXT, _ATTENTION_SCORE, _POINTER_SCORE = (tl.constexpr(row) for row in (0, 5, 10, 15, 16))


@triton.jit(do_not_specialize=["vehicles", "nodes"])  # one compilation for all batches
def drive_pointer(
    locations,  # (B, N, 2) float32
    open_demands,  # (B, N) int32; -1 for the depot and padding, becomes -1 where visited
    capacity,  # (B,) int32
    sizes,  # (B,) int64
    starts,  # (B,) int64 first customers, if IS_FORCED
    stream_keys,  # (B, 2) int64, if IS_SAMPLED
    matrices,  # (5, WIDTH, WIDTH): what h adds to the four gates i, f, g, o, and to the query of the attention
    gates,  # (3, 4, WIDTH) float32: what x, y and 1 add to the gates
    vectors,  # (17, WIDTH) float32
    route,  # (B, N) int32 result
    position,  # (B, N) int32 result
    vehicles,
    nodes,
    temperature,
    IS_SAMPLED: tl.constexpr,
    IS_FORCED: tl.constexpr,
    NATIVE: tl.constexpr,
    PRECISION: tl.constexpr,
    VEHICLES: tl.constexpr,
    BLOCK: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """One program a few vehicles. Twin: `dynaroute.construct.eager` with `dynaroute.model.pointer`."""
    vehicle = tl.program_id(0) * VEHICLES + tl.arange(0, VEHICLES)  # (V,)
    is_vehicle = vehicle < vehicles
    vehicle = tl.where(is_vehicle, vehicle, 0).to(tl.int64)
    first_cell = vehicle * nodes
    full = tl.load(capacity + vehicle)
    left = tl.where(is_vehicle, tl.load(sizes + vehicle), 0).to(tl.int32)
    size = left
    first_key, second_key = full.to(tl.uint32), full.to(tl.uint32)
    if IS_SAMPLED:
        first_key = tl.load(stream_keys + vehicle * 2).to(tl.uint32)
        second_key = tl.load(stream_keys + vehicle * 2 + 1).to(tl.uint32)
    longest = tl.max(size, 0) + 1

    remaining, chosen = full, tl.zeros((VEHICLES,), tl.int32)
    stop, routes_done, step = tl.zeros_like(chosen), tl.zeros_like(chosen), tl.zeros_like(chosen)
    hidden = tl.zeros((VEHICLES, WIDTH), tl.float32)
    cell = tl.zeros((VEHICLES, WIDTH), tl.float32)
    # a solution has fewer steps; a policy that is not finite would never leave the depot
    while (tl.max(left, 0) > 0) & (tl.max(step, 0) < 2 * longest):
        hidden, cell = _visit(hidden, cell, locations, first_cell + chosen, matrices, gates, NATIVE, PRECISION, WIDTH)
        load = remaining.to(tl.float32) / full.to(tl.float32)
        query = _multiply(hidden, matrices, 4, PRECISION, WIDTH)
        query += _add(vectors, _ATTENTION, 2, WIDTH) + load[:, None] * _add(vectors, _ATTENTION, 4, WIDTH)
        x, y, demand = _attend(
            query, locations, open_demands, vectors, first_cell, full, size, longest, NATIVE, VEHICLES, BLOCK, WIDTH
        )
        asked = (
            x[:, None] * _add(vectors, _CONTEXT, 0, WIDTH)
            + y[:, None] * _add(vectors, _CONTEXT, 1, WIDTH)
            + demand[:, None] * _add(vectors, _CONTEXT, 3, WIDTH)
            + load[:, None] * (_add(vectors, _CONTEXT, 4, WIDTH) + _add(vectors, _POINTER, 4, WIDTH))
            + _add(vectors, _CONTEXT, 2, WIDTH)
            + _add(vectors, _POINTER, 2, WIDTH)
        )  # (V, WIDTH)
        best_score = tl.full((VEHICLES, BLOCK), float("-inf"), tl.float32)
        best_node = tl.zeros((VEHICLES, BLOCK), tl.int32)
        for first in tl.range(0, loop_end(longest), BLOCK):
            node = first + tl.arange(0, BLOCK)[None, :]  # (1, BLOCK)
            score, _, _, open_demand = _score(
                asked, node, locations, open_demands, vectors, first_cell, full, size, _POINTER, _POINTER_SCORE,
                NATIVE, BLOCK, WIDTH,
            )  # fmt: skip
            if IS_SAMPLED:
                score = score / temperature + draw_gumbel(first_key[:, None], second_key[:, None], step[:, None], node)
            is_feasible = find_feasible(
                open_demand >= 0, open_demand, remaining[:, None], node == 0, (chosen != 0)[:, None]
            )
            is_better = is_feasible & (score > best_score)
            best_score = tl.where(is_better, score, best_score)
            best_node = tl.where(is_better, node, best_node)
        # ties go to the lower node
        is_best = best_score == tl.max(best_score, 1)[:, None]
        chosen = tl.min(tl.where(is_best, best_node, nodes), 1)
        if IS_FORCED:
            chosen = tl.where(step == 0, tl.load(starts + vehicle).to(tl.int32), chosen)
        chosen = tl.where(left > 0, chosen, 0)

        is_visit = chosen != 0
        delivered = tl.load(open_demands + first_cell + chosen)
        tl.store(route + first_cell + chosen, routes_done, mask=is_visit)
        tl.store(position + first_cell + chosen, stop, mask=is_visit)
        tl.debug_barrier()  # no thread may still want to read what is overwritten now
        tl.store(open_demands + first_cell + chosen, -1, mask=is_visit)
        tl.debug_barrier()  # and every thread reads it in the next step
        remaining = tl.where(is_visit, remaining - delivered, full)
        left -= is_visit.to(tl.int32)
        stop = tl.where(is_visit, stop + 1, 0)
        routes_done += tl.where(is_visit, 0, 1)
        step += 1


@triton.jit
def _visit(
    hidden, cell, locations, place, matrices, gates, NATIVE: tl.constexpr, PRECISION: tl.constexpr, WIDTH: tl.constexpr
):
    """The LSTM's (V, WIDTH) state after visits to the nodes at `place`. Twin: `torch.lstm_cell`."""
    x, y = tl.load(locations + place * 2)[:, None], tl.load(locations + place * 2 + 1)[:, None]
    admit = _gate(hidden, x, y, matrices, gates, 0, PRECISION, WIDTH)
    forget = _gate(hidden, x, y, matrices, gates, 1, PRECISION, WIDTH)
    news = _gate(hidden, x, y, matrices, gates, 2, PRECISION, WIDTH)
    show = _gate(hidden, x, y, matrices, gates, 3, PRECISION, WIDTH)
    cell = _sigmoid(forget, NATIVE) * cell + _sigmoid(admit, NATIVE) * _tanh(news, NATIVE)
    return _sigmoid(show, NATIVE) * _tanh(cell, NATIVE), cell


@triton.jit
def _gate(hidden, x, y, matrices, gates, number: tl.constexpr, PRECISION: tl.constexpr, WIDTH: tl.constexpr):
    """(V, WIDTH) input of a gate."""
    column = gates + number * WIDTH + tl.arange(0, WIDTH)[None, :]
    of_place = x * tl.load(column) + y * tl.load(column + 4 * WIDTH) + tl.load(column + 8 * WIDTH)
    return of_place + _multiply(hidden, matrices, number, PRECISION, WIDTH)


@triton.jit
def _multiply(hidden, matrices, number: tl.constexpr, PRECISION: tl.constexpr, WIDTH: tl.constexpr):
    """(V, WIDTH) product of the hidden states with one of the matrices."""
    row, column = tl.arange(0, WIDTH)[:, None], tl.arange(0, WIDTH)[None, :]
    matrix = tl.load(matrices + number * WIDTH * WIDTH + row * WIDTH + column)
    return tl.dot(hidden.to(matrix.dtype), matrix, input_precision=PRECISION, out_dtype=tl.float32)


@triton.jit
def _add(vectors, first: tl.constexpr, number: tl.constexpr, WIDTH: tl.constexpr):
    """(1, WIDTH): a row of `vectors`."""
    return tl.load(vectors + (first + number) * WIDTH + tl.arange(0, WIDTH))[None, :]


@triton.jit
def _attend(
    query, locations, open_demands, vectors, first_cell, full, size, longest, NATIVE: tl.constexpr,
    VEHICLES: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Eqs 4 and 5 before embedding: (V,) means of x, y and demand, weighted by the attention.

    A lane keeps the largest score m of its nodes, and the sums of e^(s - m) times what is known of them.
    """
    highest = tl.full((VEHICLES, BLOCK), -1.0e30, tl.float32)
    total = tl.zeros((VEHICLES, BLOCK), tl.float32)
    x_sum, y_sum, demand_sum = tl.zeros_like(total), tl.zeros_like(total), tl.zeros_like(total)
    for first in tl.range(0, loop_end(longest), BLOCK):
        node = first + tl.arange(0, BLOCK)[None, :]  # (1, BLOCK)
        score, x, y, open_demand = _score(
            query, node, locations, open_demands, vectors, first_cell, full, size, _ATTENTION, _ATTENTION_SCORE,
            NATIVE, BLOCK, WIDTH,
        )  # fmt: skip
        is_node = node <= size[:, None]
        score = tl.where(is_node, score, -1.0e30)
        higher = tl.maximum(highest, score)
        fading = tl.exp(highest - higher)
        weight = tl.where(is_node, tl.exp(score - higher), 0.0)
        total = total * fading + weight
        x_sum = x_sum * fading + weight * x
        y_sum = y_sum * fading + weight * y
        demand_sum = demand_sum * fading + weight * _fraction(open_demand, full)
        highest = higher
    factor = tl.exp(highest - tl.max(highest, 1)[:, None])  # 0 for lanes without a node
    whole = tl.sum(total * factor, 1)
    return tl.sum(x_sum * factor, 1) / whole, tl.sum(y_sum * factor, 1) / whole, tl.sum(demand_sum * factor, 1) / whole


@triton.jit
def _score(
    query, node, locations, open_demands, vectors, first_cell, full, size, first_row: tl.constexpr,
    score_row: tl.constexpr, NATIVE: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """(V, BLOCK) scores v^T tanh(W [x̄; query]) of a block of nodes, and their x, y and open demand.

    Twin: `dynaroute.model.pointer.score_plainly`.
    """
    place = first_cell[:, None] + node  # (V, BLOCK)
    is_node = node <= size[:, None]
    x = tl.load(locations + place * 2, mask=is_node, other=0.0)
    y = tl.load(locations + place * 2 + 1, mask=is_node, other=0.0)
    open_demand = tl.load(open_demands + place, mask=is_node, other=-1)
    fraction = _fraction(open_demand, full)
    inner = (
        query[:, None, :]
        + x[:, :, None] * _add(vectors, first_row, 0, WIDTH)[:, None, :]
        + y[:, :, None] * _add(vectors, first_row, 1, WIDTH)[:, None, :]
        + fraction[:, :, None] * _add(vectors, first_row, 3, WIDTH)[:, None, :]
    )  # (V, BLOCK, WIDTH)
    score = tl.sum(_tanh(inner, NATIVE) * _add(vectors, score_row, 0, WIDTH)[:, None, :], 2)
    return score, x, y, open_demand


@triton.jit
def _fraction(open_demand, full):
    """(V, BLOCK) open demand / capacity; 0 if served."""
    return tl.maximum(open_demand, 0).to(tl.float32) / full.to(tl.float32)[:, None]


@triton.jit
def _tanh(x, NATIVE: tl.constexpr):
    if NATIVE:
        return native_tanh(x)
    else:  # noqa: RET505 (Triton also compiles what follows a return)
        return tanh(x)


@triton.jit
def _sigmoid(x, NATIVE: tl.constexpr):
    return 0.5 + 0.5 * _tanh(0.5 * x, NATIVE)
