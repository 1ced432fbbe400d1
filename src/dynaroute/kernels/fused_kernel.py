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

`open_bits` of a row has one bit per slot, which says whether the row is open to that slot. Further depots are rows like
customers, behind them; a route may visit one first, and they are open again in the next stage.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, type-arg, no-any-return"

from __future__ import annotations

import triton
import triton.language as tl

from dynaroute.kernels.arithmetic import draw_gumbel, find_feasible, log_distance, scramble
from dynaroute.kernels.fused_encoder import embed, embed_rules, encode, exp2, find_tanh, invert, project
from dynaroute.kernels.rule_moves import RuleOffset, allows, describe_move, describe_state, drive, load_stop
from dynaroute.kernels.weight_layout import MatrixOffset, VectorOffset

# The layout of `PackedWeights`, as a kernel can read it.
_SQUARE = tl.constexpr(MatrixOffset.KEY)
_LAYER_MATRICES = tl.constexpr(MatrixOffset.LAYER)
_CAPACITY, _EDGE_CAPACITY = tl.constexpr(VectorOffset.CAPACITY), tl.constexpr(VectorOffset.EDGE_CAPACITY)
_DISTANCE = tl.constexpr(VectorOffset.DISTANCE)
_STATES, _MOVES = tl.constexpr(RuleOffset.STATES), tl.constexpr(RuleOffset.MOVES)
_STATE_COLUMNS, _FEATURES = tl.constexpr(RuleOffset.STATE_COLUMNS), tl.constexpr(RuleOffset.FEATURES)
_STOPS, _FACTS = tl.constexpr(RuleOffset.STOP_COLUMNS), tl.constexpr(RuleOffset.FACT_COLUMNS)
_LOG2_E = tl.constexpr(1.4426950408889634)  # because the GPU has an instruction for powers of 2


@triton.jit(do_not_specialize=["nodes"])  # one compilation for all batches
def build_solutions(
    locations,  # (B, N, 2) float32
    demands,  # (B, N) int32
    capacity,  # (B,) int32
    sizes,  # (B,) int64: customers, and further depots if any
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
    rules: tl.constexpr = False,
    rule_vectors=None,  # packed weights: see RuleTables
    rule_features=None,  # (B, N, 6) float32 further features of eq 2
    rule_stops=None,  # (B, N, 8) int32
    rule_facts=None,  # (B, 9) int32
    rule_scales=None,  # (B, 3) float32
    rule_durations=None,  # (I, N, N) int32
    rule_legs=None,  # (I, N, N) int32
    depots: tl.constexpr = 1,
    rule_depot=None,  # (B, N) int32 result: where each customer's route starts
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

        if depots > 1:
            depot_number = tl.load(rule_stops + (table_row + node) * _STOPS + 6, mask=is_row, other=-1)  # (tile,)
            is_further = is_customer & (depot_number >= 0)
            is_depot = is_depot | is_further
        hidden = embed(x, y, demand.to(tl.float32) / row_capacity.to(tl.float32), is_depot, dims, vectors)
        if rules:
            hidden += embed_rules(
                rule_features + (table_row + node) * _FEATURES, rule_vectors, is_row, is_depot, dims, tile
            )
        hidden = encode(
            hidden, row_segment, dims, matrices, vectors, attention_scale, layers, has_batch_norm, native, precision
        )
        embedding = hidden.to(kind)
        cell = rows[:, None] * 128 + dims[None, :]  # (tile, 128)
        folded = matrices + layers * _LAYER_MATRICES + dims[:, None] * 128 + dims[None, :]
        key = project(embedding, folded, precision)
        value = project(embedding, folded + _SQUARE, precision)
        logit_key = project(embedding, folded + 2 * _SQUARE, precision)
        graph = project(embedding, folded + 3 * _SQUARE, precision)
        tl.store(projections + 3 * tile * 128 + cell, graph)
        tl.store(projections + 4 * tile * 128 + cell, project(embedding, folded + 4 * _SQUARE, precision))
        if has_edges:
            tl.store(projections + 5 * tile * 128 + cell, project(embedding, folded + 5 * _SQUARE, precision))
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
        if depots > 1:
            further = tl.load(rule_facts + trajectory.to(tl.int64) * _FACTS + 7, mask=trajectory >= 0, other=0)  # (8,)
            returns_home = tl.load(rule_facts + trajectory.to(tl.int64) * _FACTS + 8, mask=takes_part, other=0)
            nodes_left, customers_left = customers_left, customers_left - further
            is_driving = customers_left > 0
            reach = tl.load(rule_stops + (table_row + node) * _STOPS + 7, mask=is_row, other=0)  # (tile,)
            offers = tl.zeros_like(full)
            for which in tl.static_range(depots):
                is_offered = member & (((reach >> which) & 1) > 0)[:, None]
                offers += tl.max(is_offered.to(tl.int32), 0) << which
            first_number = tl.load(
                rule_stops + trajectory.to(tl.int64) * nodes * _STOPS + 6, mask=takes_part, other=0
            )  # (8,)
            base, base_number, is_at_depot = tl.zeros_like(full), first_number, tl.full((8,), 1, tl.int32)
        if rules:
            pickup, early, late, service, home, way_home = load_stop(rule_stops, table_row + node, is_row)  # (tile,)
            of_slot = trajectory.to(tl.int64)
            closing = tl.load(rule_facts + of_slot * _FACTS, mask=takes_part, other=0)  # (8,) each
            longest_distance = tl.load(rule_facts + of_slot * _FACTS + 1, mask=takes_part, other=0)
            longest_duration = tl.load(rule_facts + of_slot * _FACTS + 2, mask=takes_part, other=0)
            is_last = tl.load(rule_facts + of_slot * _FACTS + 3, mask=takes_part, other=0)
            has_times = tl.load(rule_facts + of_slot * _FACTS + 4, mask=takes_part, other=0)
            has_pickups = tl.load(rule_facts + of_slot * _FACTS + 5, mask=takes_part, other=0)
            table = tl.load(rule_facts + of_slot * _FACTS + 6, mask=takes_part, other=0).to(tl.int64) * nodes * nodes
            day = tl.load(rule_scales + of_slot * 3, mask=takes_part, other=1.0)
            per_length = tl.load(rule_scales + of_slot * 3 + 1, mask=takes_part, other=1.0)
            spread = tl.sqrt(tokens.to(tl.float32))
            near_length = spread / per_length
            near_time = spread / tl.load(rule_scales + of_slot * 3 + 2, mask=takes_part, other=1.0)
            collectable, previous_node = full, tl.zeros_like(full)
            worked, departure, driven = tl.zeros_like(full), tl.zeros_like(full), tl.zeros_like(full)
            latest, has_collected = tl.full((8,), 1 << 30, tl.int32), tl.zeros_like(full)
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
                if depots > 1:
                    graph_count = _spread(nodes_left, owner) + 1
            query = graph_sum * invert(tl.maximum(graph_count, 1).to(tl.float32), native)[None, :] + last
            fraction = _spread(remaining, owner).to(tl.float32) * column_per_capacity  # (64,)
            query = tl.where(is_own_head, query + capacity_query[:, None] * fraction[None, :], 0.0)
            if rules:
                of_heads = tl.zeros((128, 64), tl.float32)
                for number in tl.static_range(5):  # the last is 0 where there is one depot
                    of_state = describe_state(
                        number, collectable, worked, departure, latest, driven, has_collected, full, longest_distance,
                        longest_duration, has_times, has_pickups, day, per_length,
                    )  # fmt: skip
                    of_state = tl.where(is_own_head, _spread(of_state, owner)[None, :], 0.0)  # (128, 64)
                    weight = rule_vectors + _STATES + dims * _STATE_COLUMNS + number
                    query += tl.load(weight)[:, None] * of_state
                    of_heads += tl.load(weight + 128 * _STATE_COLUMNS)[:, None] * of_state
                if depots > 1:
                    way_back = tl.load(rule_legs + table + previous_node * nodes + base, mask=takes_part, other=0)
                    of_state = (way_back * returns_home).to(tl.float32) / per_length  # (8,)
                    of_state = tl.where(is_own_head, _spread(of_state, owner)[None, :], 0.0)  # (128, 64)
                    weight = rule_vectors + _STATES + dims * _STATE_COLUMNS + 5
                    query += tl.load(weight)[:, None] * of_state
                    of_heads += tl.load(weight + 128 * _STATE_COLUMNS)[:, None] * of_state

            # eqs 14 to 19; columns of waiting slots are never read
            is_open = (open_bits[:, None] & bit[None, :]) != 0  # (tile, 8)
            is_own_depot = rows[:, None] == first[None, :]
            may_return = (previous != first)[None, :]
            if rules:
                way = (table + previous_node * nodes)[None, :] + node[:, None]  # (tile, 8)
                leg = tl.load(rule_durations + way, mask=member, other=0)
                length = tl.load(rule_legs + way, mask=member, other=0)
                deliverable_2, collectable_2, worked_2, departure_2, latest_2, driven_2 = drive(
                    leg, length, remaining[None, :], collectable[None, :], worked[None, :], departure[None, :],
                    latest[None, :], driven[None, :], demand[:, None], pickup[:, None], early[:, None], late[:, None],
                    service[:, None],
                )  # fmt: skip
                home_2, way_home_2, is_start = home[:, None], way_home[:, None], (previous == first)[None, :]
                if depots > 1:
                    way = table[None, :] + (node * nodes)[:, None] + base[None, :]  # (tile, 8)
                    home_2 = tl.load(rule_durations + way, mask=member, other=0) * returns_home[None, :]
                    way_home_2 = tl.load(rule_legs + way, mask=member, other=0) * returns_home[None, :]
                    is_start = (first < 0)[None, :]  # depots have their own rule
                is_allowed = allows(
                    deliverable_2, worked_2, departure_2, latest_2, driven_2, has_collected[None, :], demand[:, None],
                    late[:, None], service[:, None], home_2, way_home_2, closing[None, :],
                    longest_distance[None, :], longest_duration[None, :], is_last[None, :], is_start,
                )  # fmt: skip
                if depots > 1:
                    within_reach = ((reach[:, None] >> base_number[None, :]) & 1) > 0  # (tile, 8)
                    is_offered = ((offers[None, :] >> tl.maximum(depot_number, 0)[:, None]) & 1) > 0
                    may_begin = tl.where(is_further[:, None], is_offered & (previous == first)[None, :], within_reach)
                    is_allowed = tl.where((is_at_depot > 0)[None, :], may_begin, is_allowed & ~is_further[:, None])
                    may_return = may_return & (is_at_depot == 0)[None, :]
                is_open = is_open & is_allowed
                of_scores, of_logits = tl.zeros((tile, 64), tl.float32), tl.zeros((tile, 8), tl.float32)
                for number in tl.static_range(10):
                    move = describe_move(
                        number, deliverable_2, collectable_2, worked_2, departure_2, latest_2, driven_2,
                        (worked + departure)[None, :], departure[None, :], has_collected[None, :], pickup[:, None],
                        late[:, None], service[:, None], home_2, way_home_2, full[None, :],
                        closing[None, :], longest_distance[None, :], longest_duration[None, :], has_times[None, :],
                        has_pickups[None, :], day[None, :], per_length[None, :], near_time[None, :],
                        near_length[None, :],
                    )  # fmt: skip
                    move = tl.where(is_customer[:, None] & member, move, 0.0)  # (tile, 8)
                    if depots > 1:
                        move = tl.where(is_further[:, None], 0.0, move)
                    of_logits += tl.load(rule_vectors + _MOVES + 80 + number) * move
                    move = tl.reshape(tl.broadcast_to(move[:, None, :], (tile, 8, 8)), (tile, 64))
                    of_scores += tl.load(rule_vectors + _MOVES + (columns // 8) * 10 + number)[None, :] * move
            is_feasible = find_feasible(is_open, demand[:, None], remaining[None, :], is_own_depot, may_return)
            feasible_bits = tl.sum(tl.where(is_feasible, bit[None, :], 0), 1)
            if not is_resident:
                key = tl.load(projections + cell)
                value = tl.load(projections + tile * 128 + cell)
                logit_key = tl.load(projections + 2 * tile * 128 + cell)
            scores = tl.dot(key, query.to(kind), input_precision=precision)  # (tile, 64)
            if rules:
                scores += of_scores
            if is_biased:
                here = rows[:, None] == previous[None, :]  # (tile, 8)
                from_x = x[:, None] - tl.sum(tl.where(here, x[:, None], 0.0), 0)[None, :]
                from_y = y[:, None] - tl.sum(tl.where(here, y[:, None], 0.0), 0)[None, :]
                distance = log_distance(from_x, from_y, tokens[None, :])  # (tile, 8)
                of_columns = tl.reshape(tl.broadcast_to(distance[:, None, :], (tile, 8, 8)), (tile, 64))
                scores += column_weight[None, :] * of_columns
            is_seen = (feasible_bits[:, None] & column_bit[None, :]) != 0
            scores = tl.where(is_seen, scores * _LOG2_E, -1e30)
            weights = exp2(scores - tl.max(scores, 0)[None, :], native)
            heads = tl.dot(tl.trans(value), weights.to(kind), input_precision=precision)  # (128, 64)
            heads = tl.where(is_own_head, heads * invert(tl.sum(weights, 0), native)[None, :], 0.0)
            if has_edges:
                edge = tl.load(previous_cell + tile * 128, mask=is_own_head, other=0.0).to(tl.float32)
                edge += tl.load(vectors + _EDGE_CAPACITY + dims)[:, None] * fraction[None, :]
                heads += tl.where(is_own_head, edge, 0.0)
            if rules:
                heads += of_heads
            products = tl.dot(logit_key, heads.to(kind), input_precision=precision)  # (tile, 64)
            products = tl.sum(tl.reshape(products, (tile, 8, 8)), 1)  # (tile, 8)
            if is_biased:
                products += logit_weight * distance
            if rules:
                products += of_logits
            logits = clip * find_tanh(products, False)  # (tile, 8)
            if is_sampled:
                noise = draw_gumbel(first_key[None, :], second_key[None, :], (step + clock)[None, :], node[:, None])
                logits = logits / temperature + noise

            # the choice; ties go to the lower row, and vehicles at the depot stay there
            chosen = tl.argmax(tl.where(is_feasible, logits, float("-inf")), 0)  # (8,)
            if is_forced:
                may_force = step + clock == 0
                if depots > 1:  # from the first depot, not everybody need be within reach
                    is_forced_row = (rows[:, None] == forced[None, :]) & is_feasible
                    may_force = may_force & (tl.max(is_forced_row.to(tl.int32), 0) > 0)
                chosen = tl.where(may_force, forced, chosen)
            chosen = tl.where(is_driving, chosen, first)

            # eq 21
            is_visit = chosen != first
            is_chosen_row = rows[:, None] == chosen[None, :]  # (tile, 8)
            chosen_node = tl.sum(tl.where(is_chosen_row, node[:, None], 0), 0)
            chosen_demand = tl.sum(tl.where(is_chosen_row, demand[:, None], 0), 0)
            visit_cell = trajectory.to(tl.int64) * nodes + chosen_node
            is_served = is_visit
            if depots > 1:
                is_base = is_visit & (tl.sum(tl.where(is_chosen_row, is_further.to(tl.int32)[:, None], 0), 0) > 0)
                is_served = is_visit & ~is_base
                tl.store(rule_depot + visit_cell, base, mask=is_served)
                base = tl.where(is_base, chosen_node, base)
                chosen_number = tl.sum(tl.where(is_chosen_row, depot_number[:, None], 0), 0)
                base_number, is_at_depot = tl.where(is_base, chosen_number, base_number), is_base.to(tl.int32)
                nodes_left -= is_visit.to(tl.int32)
            tl.store(route + visit_cell, routes_done + returns, mask=is_served)
            tl.store(position + visit_cell, stop, mask=is_served)
            open_bits = open_bits & ~tl.sum(tl.where(is_chosen_row, bit[None, :], 0), 1)
            remaining = tl.where(is_visit, remaining - chosen_demand, full)
            if rules:
                remaining = tl.where(is_visit, _pick(deliverable_2, is_chosen_row), full)
                collectable = tl.where(is_visit, _pick(collectable_2, is_chosen_row), full)
                worked = tl.where(is_visit, _pick(worked_2, is_chosen_row), 0)
                departure = tl.where(is_visit, _pick(departure_2, is_chosen_row), 0)
                latest = tl.where(is_visit, _pick(latest_2, is_chosen_row), 1 << 30)
                driven = tl.where(is_visit, _pick(driven_2, is_chosen_row), 0)
                chosen_pickup = tl.sum(tl.where(is_chosen_row, pickup[:, None], 0), 0)
                has_collected = tl.where(is_visit & (chosen_pickup + has_collected > 0), 1, 0)
                previous_node = tl.where(is_visit, chosen_node, 0)
            customers_left -= is_served.to(tl.int32)
            stop = tl.where(is_served, stop + 1, 0)
            returns += (is_driving & ~is_visit).to(tl.int32)
            previous = chosen
            is_driving = is_driving & (customers_left > 0)
            if is_dynamic:
                is_driving = is_driving & is_visit
            clock += 1

        # the remaining customers, in order, for the next stage
        still_open = ((open_bits[:, None] & bit[None, :]) != 0).to(tl.int32)  # (tile, 8)
        if depots > 1:
            still_open = tl.where(is_further[:, None] & member, 1, still_open)
            step += tl.where(takes_part & (base > 0), 1, 0)
        list_cell = trajectory.to(tl.int64)[None, :] * nodes + tl.cumsum(still_open, 0)
        tl.store(left_nodes + list_cell, tl.broadcast_to(node[:, None], (tile, 8)), mask=still_open > 0)
        still_left = tl.sum(still_open, 0)
        left_set = tl.sum(tl.where(still_open > 0, scramble(node)[:, None], 0), 0)  # (8,)
        name = tl.load(keys + trajectory, mask=takes_part, other=0)
        state = tl.where(takes_part, name + left_set, state)
        step = tl.where(takes_part, step + left - still_left + 1, step)
        routes_done += takes_part.to(tl.int32)
        left = tl.where(takes_part, still_left, left)
        trajectory = tl.where(left > further, trajectory, -1) if depots > 1 else tl.where(left > 0, trajectory, -1)
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
def _pick(values, is_chosen_row):
    """(8,) values of the chosen rows, from (tile, 8)."""
    return tl.sum(tl.where(is_chosen_row, values, 0), 0)
