"""Build whole solutions in one kernel, for instances whose remaining nodes fit in one tile.

A program owns neighbouring trajectories of the batch, with about as much work as every other program. It works on up to
eight of them at a time, in slots. In each stage it

1. puts the remaining nodes of as many slots as fit into a tile of `tile` rows, one segment after the other; slots with
   the same remaining customers of the same instance, such as samples that agree so far, share a segment;
2. encodes the tile on chip, with attention masked to the segments (eqs 2 to 11, 22), and projects it for the decoder
   (`Decoder.fold`);
3. drives one route for each slot, all slots in step, until every vehicle is back (eqs 12 to 21);
4. keeps the remaining customers, in order, for the next stage, and puts new trajectories into free slots.

So tiles stay full while trajectories shrink, weights are read once per tile instead of once per trajectory, and the
host never waits. The plain twin is `construct_eagerly`.

In a step, the eight heads of the eight slots are 64 columns c = 8 head + slot. With Q the (128, 64) queries, zero
outside a column's own head, the three products of a step are dense:

    scores  S = K Q          (tile, 64); masked to the nodes feasible for a column's slot, softmax over rows: A
    heads   G = V^T A        (128, 64), again zeroed outside a column's own head; with edges plus W^E [h_last; D]
    logits  u = L G          (tile, 64), summed over the heads of each slot: (tile, 8)

`open_bits` of a row has one bit per slot, which says whether the row is open to that slot.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, type-arg, no-any-return"

from __future__ import annotations

import triton
import triton.language as tl

from dynaroute.kernels.arithmetic import draw_gumbel, find_feasible, log_distance, native_tanh, scramble, tanh
from dynaroute.kernels.weight_layout import MatrixOffset, VectorOffset

# The layout of `PackedWeights`, as a kernel can read it.
_SQUARE = tl.constexpr(MatrixOffset.KEY)
_KEY, _VALUE, _OUTPUT = (tl.constexpr(offset) for offset in (MatrixOffset.KEY, MatrixOffset.VALUE, MatrixOffset.OUTPUT))
_FEED_FORWARD_IN = tl.constexpr(MatrixOffset.FEED_FORWARD_IN)
_FEED_FORWARD_OUT = tl.constexpr(MatrixOffset.FEED_FORWARD_OUT)
_LAYER_MATRICES = tl.constexpr(MatrixOffset.LAYER)
_EMBEDDING_BIAS, _DEPOT = tl.constexpr(VectorOffset.EMBEDDING_BIAS), tl.constexpr(VectorOffset.DEPOT)
_CAPACITY, _EDGE_CAPACITY = tl.constexpr(VectorOffset.CAPACITY), tl.constexpr(VectorOffset.EDGE_CAPACITY)
_DISTANCE = tl.constexpr(VectorOffset.DISTANCE)
_LAYERS = tl.constexpr(VectorOffset.LAYERS)
_OUT_BIAS = tl.constexpr(VectorOffset.OUT_BIAS)
_FIRST_NORMALISATION = tl.constexpr(VectorOffset.FIRST_NORMALISATION)
_SECOND_NORMALISATION = tl.constexpr(VectorOffset.SECOND_NORMALISATION)
_LAYER_VECTORS = tl.constexpr(VectorOffset.LAYER)
_LAYER_VECTORS_WITH_BATCH_NORM = tl.constexpr(VectorOffset.LAYER_WITH_BATCH_NORM)
_LOG2_E = tl.constexpr(1.4426950408889634)  # because the GPU has an instruction for powers of 2


@triton.jit(do_not_specialize=["nodes"])  # one compilation for all batches
def build_solutions(
    locations,  # (B, N, 2) float32
    demands,  # (B, N) int32
    capacity,  # (B,) int32
    sizes,  # (B,) int64
    keys,  # (B,) int64, equal for equal instances
    starts,  # (B,) int64 first customers, if `is_forced`
    stream_keys,  # (B, 2) int64, if `is_sampled`
    bounds,  # (P + 1,) int32: the first trajectory of each program
    matrices,  # packed weights: see PackedWeights
    vectors,  # packed weights, float32
    left_nodes,  # (B, N) int32 scratch: the remaining customers, from column 1
    projections,  # (P, 5, tile, 128) scratch of the matrices' dtype; (P, 6, tile, 128) with edges
    route,  # (B, N) int32 result
    position,  # (B, N) int32 result
    nodes,
    temperature,
    clip,
    attention_scale,
    layers: tl.constexpr,
    is_dynamic: tl.constexpr,
    shrinks: tl.constexpr,
    is_biased: tl.constexpr,
    has_edges: tl.constexpr,
    has_batch_norm: tl.constexpr,
    is_sampled: tl.constexpr,
    is_forced: tl.constexpr,
    is_resident: tl.constexpr,
    native: tl.constexpr,
    precision: tl.constexpr,
    tile: tl.constexpr,
):
    """Build the solutions of each program's trajectories, which `bounds` gives."""
    kind = matrices.dtype.element_ty
    program = tl.program_id(0)
    rows, dims, columns, slots = tl.arange(0, tile), tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 8)
    bit = 1 << slots
    column_bit = 1 << (columns % 8)
    is_own_head = (dims // 16)[:, None] == (columns // 8)[None, :]  # (128, 64)
    owner = (columns % 8)[:, None] == slots[None, :]  # (64, 8)
    projections += program.to(tl.int64) * ((6 if has_edges else 5) * tile * 128)
    last_cells = projections + 4 * tile * 128 + dims[:, None]  # (128, 1)
    capacity_query = tl.load(vectors + _CAPACITY + dims)  # (128,)
    if is_biased:
        column_weight = tl.load(vectors + _DISTANCE + columns // 8)  # (64,)
        logit_weight = tl.load(vectors + _DISTANCE + 8)

    trajectory = tl.full((8,), -1, tl.int32)
    left, step, routes_done = tl.zeros_like(trajectory), tl.zeros_like(trajectory), tl.zeros_like(trajectory)
    state = tl.zeros((8,), tl.int64)  # identifies an instance and its remaining customers
    admitted, end = tl.load(bounds + program), tl.load(bounds + program + 1)
    trajectory, left, step, routes_done, state, admitted = _admit(
        trajectory, left, step, routes_done, state, admitted, sizes, keys, end
    )
    while tl.max(trajectory, 0) >= 0:
        # which slots take part, which slot leads those with the same state, and where the leaders' segments are
        is_alike = (state[:, None] == state[None, :]) & (left[:, None] == left[None, :])  # (8, 8)
        leader = tl.min(tl.where(is_alike & (trajectory >= 0)[None, :], slots[None, :], 8), 1)
        leader = tl.where(trajectory >= 0, leader, 8)
        follows = leader[:, None] == slots[None, :]  # (8, 8): slot, leader
        leader_tokens = tl.where(leader == slots, left + 1, 0)
        is_chosen = _choose_slots(leader_tokens, slots, tile)
        leader_tokens = tl.where(is_chosen, leader_tokens, 0)
        leader_first = tl.cumsum(leader_tokens, 0) - leader_tokens
        takes_part = _spread(is_chosen.to(tl.int32), follows) > 0
        tokens = tl.where(takes_part, left + 1, 0)
        first = _spread(leader_first, follows)
        leads = (rows[:, None] >= leader_first[None, :]) & (rows[:, None] < (leader_first + leader_tokens)[None, :])
        is_row = tl.sum(leads.to(tl.int32), 1) > 0
        row_segment = tl.where(is_row, _spread(slots, leads), 8)  # padding rows are a separate segment
        row_trajectory = _spread(trajectory, leads).to(tl.int64)
        row_step = _spread(step, leads)
        place = rows - _spread(leader_first, leads)
        is_depot = is_row & (place == 0)
        is_customer = is_row & (place > 0)

        # the nodes: at first all in order, later those in the leader's list
        table_row = row_trajectory * nodes
        listed = tl.load(left_nodes + table_row + place, mask=is_customer & (row_step > 0), other=0)
        node = tl.where(is_customer, tl.where(row_step > 0, listed, place), 0)
        x = tl.load(locations + (table_row + node) * 2, mask=is_row, other=0.0)
        y = tl.load(locations + (table_row + node) * 2 + 1, mask=is_row, other=0.0)
        demand = tl.load(demands + table_row + node, mask=is_row, other=0)
        row_capacity = tl.load(capacity + row_trajectory, mask=is_row, other=1)

        hidden = _embed(x, y, demand.to(tl.float32) / row_capacity.to(tl.float32), is_depot, dims, vectors)
        hidden = _encode(
            hidden, row_segment, dims, matrices, vectors, attention_scale, layers, has_batch_norm, native, precision
        )
        embedding = hidden.to(kind)
        cell = rows[:, None] * 128 + dims[None, :]  # (tile, 128)
        folded = matrices + layers * _LAYER_MATRICES + dims[:, None] * 128 + dims[None, :]
        key = _project(embedding, folded, precision)
        value = _project(embedding, folded + _SQUARE, precision)
        logit_key = _project(embedding, folded + 2 * _SQUARE, precision)
        graph = _project(embedding, folded + 3 * _SQUARE, precision)
        tl.store(projections + 3 * tile * 128 + cell, graph)
        tl.store(projections + 4 * tile * 128 + cell, _project(embedding, folded + 4 * _SQUARE, precision))
        if has_edges:
            tl.store(projections + 5 * tile * 128 + cell, _project(embedding, folded + 5 * _SQUARE, precision))
        if not is_resident:
            tl.store(projections + cell, key)
            tl.store(projections + tile * 128 + cell, value)
            tl.store(projections + 2 * tile * 128 + cell, logit_key)
        tl.debug_barrier()  # rows are read by other threads than those that wrote them

        # the state of the vehicles, per slot and per column
        member = (rows[:, None] >= first[None, :]) & (rows[:, None] < (first + tokens)[None, :])  # (tile, 8)
        open_bits = tl.sum(tl.where(member & is_customer[:, None], bit[None, :], 0), 1)
        column_first = _spread(first, owner)
        column_tokens = _spread(tokens, owner)
        belongs = (rows[:, None] >= column_first[None, :]) & (rows[:, None] < (column_first + column_tokens)[None, :])
        graph_sum = tl.dot(tl.trans(graph), belongs.to(kind), input_precision=precision)  # (128, 64)
        full = tl.load(capacity + trajectory, mask=takes_part, other=1)
        column_per_capacity = 1.0 / _spread(full, owner).to(tl.float32)
        remaining, previous, customers_left = full, first, tokens - 1
        returns, stop = tl.zeros_like(slots), tl.zeros_like(slots)
        is_driving = customers_left > 0
        if is_sampled:
            first_key = tl.load(stream_keys + trajectory.to(tl.int64) * 2, mask=takes_part, other=0).to(tl.uint32)
            second_key = tl.load(stream_keys + trajectory.to(tl.int64) * 2 + 1, mask=takes_part, other=0).to(tl.uint32)
        if is_forced:
            forced = first + tl.load(starts + trajectory, mask=takes_part, other=0).to(tl.int32)

        clock = 0
        while tl.max(is_driving.to(tl.int32), 0) > 0:
            # eqs 12 and 13: the query; the last customer is removed from the graph's mean
            column_previous = _spread(previous, owner)
            previous_cell = last_cells + (column_previous * 128)[None, :]  # (128, 64)
            last = tl.load(previous_cell, mask=is_own_head, other=0.0).to(tl.float32)
            graph_count = column_tokens
            if shrinks:
                visited = tl.load(previous_cell - tile * 128, mask=is_own_head, other=0.0).to(tl.float32)
                graph_sum -= visited * (column_previous != column_first).to(tl.float32)[None, :]
                graph_count = _spread(customers_left, owner) + 1
            query = graph_sum * _invert(tl.maximum(graph_count, 1).to(tl.float32), native)[None, :] + last
            fraction = _spread(remaining, owner).to(tl.float32) * column_per_capacity  # (64,)
            query = tl.where(is_own_head, query + capacity_query[:, None] * fraction[None, :], 0.0)

            # eqs 14 to 19; columns of waiting slots are never read
            is_open = (open_bits[:, None] & bit[None, :]) != 0  # (tile, 8)
            is_own_depot = rows[:, None] == first[None, :]
            may_return = (previous != first)[None, :]
            is_feasible = find_feasible(is_open, demand[:, None], remaining[None, :], is_own_depot, may_return)
            feasible_bits = tl.sum(tl.where(is_feasible, bit[None, :], 0), 1)
            if not is_resident:
                key = tl.load(projections + cell)
                value = tl.load(projections + tile * 128 + cell)
                logit_key = tl.load(projections + 2 * tile * 128 + cell)
            scores = tl.dot(key, query.to(kind), input_precision=precision)  # (tile, 64)
            if is_biased:
                here = rows[:, None] == previous[None, :]  # (tile, 8)
                from_x = x[:, None] - tl.sum(tl.where(here, x[:, None], 0.0), 0)[None, :]
                from_y = y[:, None] - tl.sum(tl.where(here, y[:, None], 0.0), 0)[None, :]
                distance = log_distance(from_x, from_y, tokens[None, :])  # (tile, 8)
                of_columns = tl.reshape(tl.broadcast_to(distance[:, None, :], (tile, 8, 8)), (tile, 64))
                scores += column_weight[None, :] * of_columns
            is_seen = (feasible_bits[:, None] & column_bit[None, :]) != 0
            scores = tl.where(is_seen, scores * _LOG2_E, -1e30)
            weights = _exp2(scores - tl.max(scores, 0)[None, :], native)
            heads = tl.dot(tl.trans(value), weights.to(kind), input_precision=precision)  # (128, 64)
            heads = tl.where(is_own_head, heads * _invert(tl.sum(weights, 0), native)[None, :], 0.0)
            if has_edges:
                edge = tl.load(previous_cell + tile * 128, mask=is_own_head, other=0.0).to(tl.float32)
                edge += tl.load(vectors + _EDGE_CAPACITY + dims)[:, None] * fraction[None, :]
                heads += tl.where(is_own_head, edge, 0.0)
            products = tl.dot(logit_key, heads.to(kind), input_precision=precision)  # (tile, 64)
            products = tl.sum(tl.reshape(products, (tile, 8, 8)), 1)  # (tile, 8)
            if is_biased:
                products += logit_weight * distance
            logits = clip * _tanh(products, False)  # (tile, 8)
            if is_sampled:
                noise = draw_gumbel(first_key[None, :], second_key[None, :], (step + clock)[None, :], node[:, None])
                logits = logits / temperature + noise

            # the choice; ties go to the lower row, and vehicles at the depot stay there
            chosen = tl.argmax(tl.where(is_feasible, logits, float("-inf")), 0)  # (8,)
            if is_forced:
                chosen = tl.where(step + clock == 0, forced, chosen)
            chosen = tl.where(is_driving, chosen, first)

            # eq 21
            is_visit = chosen != first
            is_chosen_row = rows[:, None] == chosen[None, :]  # (tile, 8)
            chosen_node = tl.sum(tl.where(is_chosen_row, node[:, None], 0), 0)
            chosen_demand = tl.sum(tl.where(is_chosen_row, demand[:, None], 0), 0)
            visit_cell = trajectory.to(tl.int64) * nodes + chosen_node
            tl.store(route + visit_cell, routes_done + returns, mask=is_visit)
            tl.store(position + visit_cell, stop, mask=is_visit)
            open_bits = open_bits & ~tl.sum(tl.where(is_chosen_row, bit[None, :], 0), 1)
            remaining = tl.where(is_visit, remaining - chosen_demand, full)
            customers_left -= is_visit.to(tl.int32)
            stop = tl.where(is_visit, stop + 1, 0)
            returns += (is_driving & ~is_visit).to(tl.int32)
            previous = chosen
            is_driving = is_driving & (customers_left > 0)
            if is_dynamic:
                is_driving = is_driving & is_visit
            clock += 1

        # the remaining customers, in order, for the next stage
        still_open = ((open_bits[:, None] & bit[None, :]) != 0).to(tl.int32)  # (tile, 8)
        list_cell = trajectory.to(tl.int64)[None, :] * nodes + tl.cumsum(still_open, 0)
        tl.store(left_nodes + list_cell, tl.broadcast_to(node[:, None], (tile, 8)), mask=still_open > 0)
        still_left = tl.sum(still_open, 0)
        left_set = tl.sum(tl.where(still_open > 0, scramble(node)[:, None], 0), 0)  # (8,)
        name = tl.load(keys + trajectory, mask=takes_part, other=0)
        state = tl.where(takes_part, name + left_set, state)
        step = tl.where(takes_part, step + left - still_left + 1, step)
        routes_done += takes_part.to(tl.int32)
        left = tl.where(takes_part, still_left, left)
        trajectory = tl.where(left > 0, trajectory, -1)
        trajectory, left, step, routes_done, state, admitted = _admit(
            trajectory, left, step, routes_done, state, admitted, sizes, keys, end
        )
        tl.debug_barrier()  # the lists and the scratch are read and written again


@triton.jit
def _admit(trajectory, left, step, routes_done, state, admitted, sizes, keys, end):
    """Give free slots the program's next trajectories."""
    is_free = trajectory < 0
    candidate = admitted + tl.cumsum(is_free.to(tl.int32), 0) - 1
    is_admitted = is_free & (candidate < end)
    size = tl.load(sizes + candidate, mask=is_admitted, other=0).to(tl.int32)
    key = tl.load(keys + candidate, mask=is_admitted, other=0)
    return (
        tl.where(is_admitted, candidate, trajectory),
        tl.where(is_admitted, size, left),
        tl.where(is_admitted, 0, step),
        tl.where(is_admitted, 0, routes_done),
        tl.where(is_admitted, key, state),
        admitted + tl.sum(is_admitted.to(tl.int32), 0),
    )


@triton.jit
def _choose_slots(tokens, slots, tile: tl.constexpr):
    """Find the subset of slots, of all 256, that fills the tile best."""
    subsets = tl.arange(0, 256)
    is_in = (subsets[:, None] >> slots[None, :]) & 1  # (256, 8)
    needed = tl.sum(is_in * tokens[None, :], 1)  # (256,)
    best = tl.argmax(tl.where(needed <= tile, needed, 0), 0)
    return (((best >> slots) & 1) == 1) & (tokens > 0)


@triton.jit
def _spread(values, belongs):
    """Copy (8,) values of slots to (R,) rows, by the (R, 8) table of which row belongs to which slot; otherwise 0."""
    return tl.sum(tl.where(belongs, values[None, :], 0), 1)


@triton.jit
def _embed(x, y, fraction, is_depot, dims, vectors):
    """Eq 2: (tile, 128) from position and demand."""
    customer = _linear_3(x, y, fraction, dims, vectors)
    depot = _linear_3(x, y, fraction, dims, vectors + _DEPOT)
    return tl.where(is_depot[:, None], depot, customer)


@triton.jit
def _linear_3(x, y, fraction, dims, parameters):
    weight = parameters + dims * 3
    bias = tl.load(parameters + _EMBEDDING_BIAS + dims)
    from_x = x[:, None] * tl.load(weight)[None, :]
    from_y = y[:, None] * tl.load(weight + 1)[None, :]
    return from_x + from_y + fraction[:, None] * tl.load(weight + 2)[None, :] + bias[None, :]


@triton.jit
def _encode(
    hidden, row_segment, dims, matrices, vectors, attention_scale, layers: tl.constexpr, has_batch_norm: tl.constexpr,
    native: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Eqs 3 to 11: (tile, 128) embeddings; each row attends only to its own segment.

    Heads are multiplied by their blocks of W^O one after the other, and inner columns of the feed-forward sub-layer 64
    at a time; the sum starts with the skip connection and stays in registers.
    """
    kind = matrices.dtype.element_ty
    head_dims, inner = tl.arange(0, 16), tl.arange(0, 64)
    segment = tl.where(row_segment[:, None] == head_dims[None, :], 32.0, 0.0).to(kind)  # (tile, 16)
    for layer in range(layers):
        weight = matrices + layer * _LAYER_MATRICES
        bias = vectors + _LAYERS + layer * (_LAYER_VECTORS_WITH_BATCH_NORM if has_batch_norm else _LAYER_VECTORS)
        tokens = hidden.to(kind)
        for head in range(8):
            in_head = weight + (head * 16 + head_dims)[:, None] * 128 + dims[None, :]  # (16, 128)
            query = tl.dot(tokens, tl.trans(tl.load(in_head)), input_precision=precision)  # (tile, 16)
            query = (query * (attention_scale * _LOG2_E)).to(kind)  # for powers of 2
            key = _project(tokens, in_head + _KEY, precision)
            value = _project(tokens, in_head + _VALUE, precision)
            if kind == tl.float32:
                scores = tl.dot(query, tl.trans(key), input_precision=precision)  # (tile, tile)
                scores = tl.where(row_segment[:, None] == row_segment[None, :], scores, float("-inf"))
            else:
                # a product lowers the scores of other segments by 1024, which is cheaper than masking every score
                scores = tl.dot(query, tl.trans(key), tl.dot(segment, tl.trans(segment)))
            scores = _exp2(scores - tl.max(scores, 1)[:, None], native)
            attended = tl.dot(scores.to(kind), value, input_precision=precision)  # (tile, 16)
            attended = attended * _invert(tl.sum(scores, 1), native)[:, None]
            output = tl.load(weight + _OUTPUT + dims[:, None] * 128 + (head * 16 + head_dims)[None, :])  # (128, 16)
            hidden = tl.dot(attended.to(kind), tl.trans(output), hidden, input_precision=precision)
        hidden = _normalise(hidden, bias + _FIRST_NORMALISATION, dims, has_batch_norm, native)
        tokens = hidden.to(kind)
        hidden += tl.load(bias + _OUT_BIAS + dims)[None, :]
        for chunk in range(8):
            into = tl.load(weight + _FEED_FORWARD_IN + (chunk * 64 + inner)[:, None] * 128 + dims[None, :])  # (64, 128)
            between = tl.dot(tokens, tl.trans(into), input_precision=precision)  # (tile, 64)
            between = tl.maximum(between + tl.load(bias + chunk * 64 + inner)[None, :], 0.0)
            out_of = tl.load(
                weight + _FEED_FORWARD_OUT + dims[:, None] * 512 + (chunk * 64 + inner)[None, :]
            )  # (128, 64)
            hidden = tl.dot(between.to(kind), tl.trans(out_of), hidden, input_precision=precision)
        hidden = _normalise(hidden, bias + _SECOND_NORMALISATION, dims, has_batch_norm, native)
    return hidden


@triton.jit
def _project(tokens, weight_cells, precision: tl.constexpr):
    """Multiply tokens by the transpose of a weight matrix, rounded to the tokens' dtype."""
    return tl.dot(tokens, tl.trans(tl.load(weight_cells)), input_precision=precision).to(tokens.dtype)


@triton.jit
def _normalise(hidden, parameters, dims, has_batch_norm: tl.constexpr, native: tl.constexpr):
    """Apply tanh (eqs 8 and 10), or the factor and shift of a batch normalisation."""
    if has_batch_norm:
        hidden = hidden * tl.load(parameters + dims)[None, :] + tl.load(parameters + 128 + dims)[None, :]
    else:
        hidden = _tanh(hidden, native)
    return hidden


@triton.jit
def _tanh(x, native: tl.constexpr):
    """Tanh, by the GPU's own instruction or exactly."""
    return native_tanh(x) if native else tanh(x)


@triton.jit
def _exp2(x, native: tl.constexpr):
    """Powers of 2; the GPU's own instruction rounds small results to 0."""
    if native:
        result = tl.inline_asm_elementwise(
            "ex2.approx.ftz.f32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        result = tl.exp2(x)
    return result


@triton.jit
def _invert(x, native: tl.constexpr):
    """1 / x; by the GPU's own instruction, within 1 ulp."""
    if native:
        result = tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        result = 1.0 / x
    return result
