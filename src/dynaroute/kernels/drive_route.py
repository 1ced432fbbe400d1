"""One route of every trajectory, for instances of any size: nodes pass by in blocks (eqs 2, 12 to 21).

A segment holds what is left of a trajectory: row 0 the depot, then the customers in the order of their numbers.
"""

from __future__ import annotations

import triton
import triton.language as tl

from dynaroute.kernels.arithmetic import draw_gumbel, find_feasible, log_distance, loop_end, tanh
from dynaroute.kernels.rule_moves import RuleOffset, add_features, choose, look, visit, weigh_states

# columns of the projections, in the order of `Decoder.fold`: the key is the first
_VALUE, _LOGIT_KEY, _GRAPH, _LAST, _EDGE = (tl.constexpr(128 * number) for number in range(1, 6))
_STOPS, _FACTS = tl.constexpr(RuleOffset.STOP_COLUMNS), tl.constexpr(RuleOffset.FACT_COLUMNS)
_FEATURES = tl.constexpr(RuleOffset.FEATURES)
_LOG2_E = tl.constexpr(1.4426950408889634)  # powers of 2 are what a GPU has an instruction for
# how far a head's largest score may be from what it is compared with: 2^15 fits in float16, and so does, with all
# digits, what weighs a sixtieth of 2^-8
_MOST, _LEAST = tl.constexpr(15.0), tl.constexpr(-8.0)


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
    RULES: tl.constexpr = False,
    rule_features=None,  # (B, N, 6) float32 further features of eq 2
    rule_customer_table=None,  # (6, 512) float32: what they are multiplied by
    rule_depot_table=None,  # (6, 512) likewise
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
            if RULES:
                features = rule_features + (table + node) * _FEATURES
                columns += add_features(features, rule_customer_table + part * 128, is_row)
            if tl.program_id(1) == 0:  # where the depot is
                depot = _multiply(x, y, fraction, depot_table + part * 128)
                if RULES:
                    depot += add_features(features, rule_depot_table + part * 128, is_row)
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
    projected,  # (T, 640): key, value, logit key, graph and last of every token; (T, 768) with edges
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
    capacity_weights,  # (1, 128) float32, for queries; (2, 128) with edges
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
    IS_BIASED: tl.constexpr,
    HAS_EDGES: tl.constexpr,
    IS_SAMPLED: tl.constexpr,
    IS_FORCED: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK: tl.constexpr,
    STAGES: tl.constexpr,
    RULES: tl.constexpr = False,  # of one depot
    rule_vectors=None,  # and what follows: see `dynaroute.construct.fused_rules.RuleTables`
    rule_stops=None,
    rule_facts=None,
    rule_scales=None,
    rule_durations=None,
    rule_legs=None,
):
    """One program a trajectory: drive until the depot, or, if the policy is static, until nothing is left.

    A pass reads all rows twice: for glimpses, then for logits. With the heads of queries side by side in a
    block-diagonal matrix, scores, glimpses and logits are products for the tensor cores, an eighth of which is needed;
    that is a fifth of the instructions that multiplying by hand takes. Each of BLOCK lanes keeps its own best nodes;
    they meet once a pass.

    Reading takes longer than computing, so a pass answers two queries: where the vehicle goes next, and where it
    would go after that if it went to the node that was second best in the last answer. About every second time it
    does, and the pass is two steps; else the second answer is dropped. The routes are the same.
    Twin: `dynaroute.construct.eager`.
    """
    COLUMNS: tl.constexpr = 768 if HAS_EDGES else 640
    segment = tl.program_id(0)
    count = tl.load(lengths + segment).to(tl.int32)
    if count > 0:
        start = tl.load(offsets + segment)
        projected += start * COLUMNS
        token_nodes += start
        open_demands += start
        positions += start * 2
        trajectory = tl.load(trajectories + segment)
        full = tl.load(capacity + trajectory)
        from_capacity = tl.load(capacity_weights + tl.arange(0, 128))  # head after head
        of_head = tl.arange(0, 16) // 8  # the query of a column, where each head has one
        of_pair = tl.arange(0, 8) % 2  # and where each query has one; the smallest product has eight
        if IS_SAMPLED:
            first_key = tl.load(stream_keys + trajectory * 2).to(tl.uint32)
            second_key = tl.load(stream_keys + trajectory * 2 + 1).to(tl.uint32)
        if IS_FORCED:
            forced = tl.load(starts + trajectory).to(tl.int32)  # at first, rows are nodes

        customers_left = count - 1
        step = tl.load(sizes + trajectory).to(tl.int32) - customers_left + routes_done
        stop, remaining, previous, likely = 0, full, 0, 0  # likely: the row from which the second query asks, if not 0
        graph_sum = _sum_rows(projected + _GRAPH, count, COLUMNS, BLOCK)  # (128,)
        level = tl.zeros((16,), tl.float32)  # of the scores of each head
        last = _load_own(projected + _LAST, tl.where(of_head == 0, previous, likely), COLUMNS)
        if RULES:
            rule_stops += trajectory * nodes * _STOPS
            rule_facts += trajectory * _FACTS
            rule_scales += trajectory * 3
            table = tl.load(rule_facts + 6).to(tl.int64) * nodes * nodes
            rule_durations += table
            rule_legs += table
            none = full * 0
            own = (full, full, none, none, none + (1 << 30), none, none, none)
        is_driving = customers_left > 0
        while is_driving:
            # eqs 12 and 13
            load = _find_load(open_demands, of_head, remaining, likely)
            if RULES:
                likely_demand = tl.maximum(tl.load(open_demands + likely), 0)
                likely_node = tl.load(token_nodes + likely)
                after = visit(own, likely_node, likely_demand, rule_stops, rule_durations, rule_legs, nodes)
                of_two, of_pairs = choose(of_head, own, after), choose(of_pair, own, after)
                load = of_two[0]
            graph = graph_sum[:, None] / count.to(tl.float32)
            if SHRINKS:
                likely_share = _load_own(projected + _GRAPH, likely + 0 * of_head, COLUMNS).to(tl.float32)
                graph = graph_sum[:, None] - tl.where((of_head == 0)[None, :], 0.0, likely_share)
                graph /= tl.maximum(customers_left + 1 - of_head, 1).to(tl.float32)[None, :]
            fraction = load.to(tl.float32) / full.to(tl.float32)
            query = graph + last.to(tl.float32) + fraction[None, :] * from_capacity[:, None]
            if RULES:
                query += weigh_states(rule_vectors, of_two, full, rule_facts, rule_scales, 0)
            query *= _LOG2_E
            query = tl.where(_is_own(), query, 0.0).to(projected.dtype.element_ty)  # (128, 16)

            glimpse, level = _attend(
                projected, open_demands, positions, distance_weight, query, level, count, load, previous, likely,
                COLUMNS, IS_BIASED, PRECISION, BLOCK, STAGES, RULES, token_nodes, of_two if RULES else None, full,
                rule_vectors, rule_stops, rule_facts, rule_scales, rule_durations, rule_legs, nodes,
            )  # (128, 8), (16,)  # fmt: skip
            place = tl.where(of_pair == 0, previous, likely)
            load = of_pairs[0] if RULES else _find_load(open_demands, of_pair, remaining, likely)
            if HAS_EDGES:
                edge = tl.load(projected + _EDGE + place[None, :] * COLUMNS + tl.arange(0, 128)[:, None])  # (128, 8)
                pair_fraction = load.to(tl.float32) / full.to(tl.float32)
                of_capacity = tl.load(capacity_weights + 128 + tl.arange(0, 128))
                glimpse += edge.to(tl.float32) + of_capacity[:, None] * pair_fraction[None, :]
            if RULES:
                glimpse += weigh_states(rule_vectors, of_pairs, full, rule_facts, rule_scales, 1)
            glimpse = glimpse.to(projected.dtype.element_ty)
            best_score = tl.full((BLOCK, 8), float("-inf"), tl.float32)
            best_row = tl.zeros((BLOCK, 8), tl.int32)
            for first in tl.range(0, loop_end(count), BLOCK, num_stages=STAGES):
                row = first + tl.arange(0, BLOCK)
                logit_key = _load_rows(projected + _LOGIT_KEY, row, count, COLUMNS)
                product = tl.dot(logit_key, glimpse, input_precision=PRECISION)  # (BLOCK, 8)
                if IS_BIASED:
                    product += tl.load(distance_weight + 8) * _measure(positions, row, place, count)
                if RULES:
                    row_node = tl.load(token_nodes + row, mask=row < count, other=0)
                    demand_of_row = tl.maximum(tl.load(open_demands + row, mask=row < count, other=0), 0)
                    is_allowed, of_moves = look(
                        rule_vectors, of_pair * 0 + 8, row_node, demand_of_row, row < count, of_pairs, full, rule_facts,
                        rule_scales, rule_stops, rule_durations, rule_legs, nodes, count,
                    )  # fmt: skip
                    product += of_moves
                score = clip * tanh(product)  # eq 19
                if IS_SAMPLED:
                    node = tl.load(token_nodes + row, mask=row < count, other=0)
                    noise = draw_gumbel(first_key, second_key, (step + of_pair)[None, :], node[:, None])
                    score = score / temperature + noise
                is_feasible = _is_feasible(open_demands, row, count, of_pair, load, previous, likely)
                if RULES:
                    is_feasible = is_feasible & (is_allowed | (row == 0)[:, None])
                is_better = is_feasible & (score > best_score)
                best_score = tl.where(is_better, score, best_score)
                best_row = tl.where(is_better, row[:, None], best_row)
            # ties go to the lower row
            answers = tl.min(tl.where(best_score == tl.max(best_score, 0)[None, :], best_row, count), 0)  # (8,)

            answered = -1  # the last query whose answer was taken
            is_answered = True
            for answer in tl.static_range(2):
                if is_answered:
                    answered = answer
                    chosen = tl.sum(tl.where(tl.arange(0, 8) == answer, answers, 0), 0)
                    if IS_FORCED:
                        chosen = tl.where(step == 0, forced, chosen)
                    # eq 21
                    is_visit = chosen != 0
                    if SHRINKS:
                        visited = tl.load(projected + chosen * COLUMNS + _GRAPH + tl.arange(0, 128)).to(tl.float32)
                        graph_sum -= tl.where(is_visit, visited, 0.0)
                    node = tl.load(token_nodes + chosen)
                    demand = tl.load(open_demands + chosen)
                    tl.store(route + trajectory * nodes + node, routes_done, mask=is_visit)
                    tl.store(position + trajectory * nodes + node, stop, mask=is_visit)
                    tl.debug_barrier()  # no thread may still want to read what is overwritten now
                    tl.store(open_demands + chosen, -1)
                    tl.debug_barrier()  # and every thread reads it in the next step
                    if RULES:
                        own = visit(own, node, tl.maximum(demand, 0), rule_stops, rule_durations, rule_legs, nodes)
                        remaining = tl.where(is_visit, own[0], full)
                    else:
                        remaining = tl.where(is_visit, remaining - demand, full)
                    customers_left -= is_visit.to(tl.int32)
                    stop = tl.where(is_visit, stop + 1, 0)
                    routes_done += tl.where(is_visit, 0, 1)
                    previous = chosen
                    step += 1
                    is_driving = customers_left > 0
                    if IS_DYNAMIC:
                        is_driving = is_driving & is_visit
                    is_answered = is_driving & is_visit & (chosen == likely)
            likely = _find_second_best(best_score, best_row, answered, previous)
            last = _load_own(projected + _LAST, tl.where(of_head == 0, previous, likely), COLUMNS)

        _list_what_is_left(token_nodes, open_demands, left_nodes + trajectory * nodes, count, BLOCK)
        tl.store(left + trajectory, customers_left)
        if customers_left > 0:
            tl.atomic_add(counts, 1, sem="relaxed")
            tl.atomic_add(counts + 1, customers_left + 1, sem="relaxed")
            tl.atomic_max(counts + 2, customers_left + 1, sem="relaxed")


@triton.jit
def _is_own():
    """(128, 16): whether a number belongs to the column's head."""
    return tl.arange(0, 128)[:, None] // 16 == tl.arange(0, 16)[None, :] % 8


@triton.jit
def _load_own(columns, row, COLUMNS: tl.constexpr):
    """(128, 16): of 128 columns of the row of each query and head, the head's own; zeros elsewhere."""
    return tl.load(columns + row[None, :] * COLUMNS + tl.arange(0, 128)[:, None], mask=_is_own(), other=0.0)


@triton.jit
def _load_rows(columns, row, count, COLUMNS: tl.constexpr):
    """(BLOCK, 128): 128 columns of some rows of the projections; past the segment's end its last row."""
    return tl.load(columns + tl.minimum(row, count - 1)[:, None] * COLUMNS + tl.arange(0, 128)[None, :])


@triton.jit
def _sum_rows(columns, count, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    """(128,) sum of 128 columns over a segment."""
    total = tl.zeros((BLOCK, 128), tl.float32)
    for first in tl.range(0, loop_end(count), BLOCK):
        row = first + tl.arange(0, BLOCK)
        total += tl.where((row < count)[:, None], _load_rows(columns, row, count, COLUMNS), 0.0)
    return tl.sum(total, 0)


@triton.jit
def _find_load(open_demands, query, remaining, likely):
    """What remains of the vehicle's load when queries 0 and 1 ask."""
    return remaining - tl.where(query == 0, 0, tl.maximum(tl.load(open_demands + likely), 0))


@triton.jit
def _is_feasible(open_demands, row, count, query, load, previous, likely):
    """Eqs 14 and 19 for a block of rows and queries; at the depot, row 0, the vehicle may not stay."""
    demand = tl.load(open_demands + row, mask=row < count, other=-1)
    is_open = (demand >= 0)[:, None] & ((row != likely)[:, None] | (query == 0)[None, :])
    may_return = tl.where(query == 0, previous, likely) != 0
    return find_feasible(is_open, demand[:, None], load[None, :], (row == 0)[:, None], may_return[None, :])


@triton.jit
def _find_second_best(score, row, query, best):
    """The customer with the highest score for a query among the (BLOCK, 8) lanes' best, but one; 0 if there is none."""
    is_asked = tl.arange(0, 8)[None, :] == query
    score = tl.sum(tl.where(is_asked, score, 0.0), 1)  # (BLOCK,)
    row = tl.sum(tl.where(is_asked, row, 0), 1)
    score = tl.where((row == 0) | (row == best), float("-inf"), score)
    return tl.max(tl.where(score == tl.maximum(tl.max(score, 0), -1.0e30), row, 0), 0)


@triton.jit
def _measure(positions, row, place, count):
    """Log-distances of a block of rows from the places where queries ask."""
    is_row = row < count
    x = tl.load(positions + row * 2, mask=is_row, other=0.0)[:, None] - tl.load(positions + place * 2)[None, :]
    y = tl.load(positions + row * 2 + 1, mask=is_row, other=0.0)[:, None] - tl.load(positions + place * 2 + 1)[None, :]
    return log_distance(x, y, count)


@triton.jit
def _attend(
    projected, open_demands, positions, distance_weight, query, level, count, load, previous, likely,
    COLUMNS: tl.constexpr, IS_BIASED: tl.constexpr, PRECISION: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr,
    RULES: tl.constexpr, token_nodes, state, capacity, rule_vectors, rule_stops, rule_facts, rule_scales,
    rule_durations, rule_legs, nodes,
):  # fmt: skip
    """Eqs 14 to 16: (128, 8) the heads' outputs for both queries by turns, and (16,) their largest scores.

    With s the scores times log2(e), and z and o the sums of 2^(s - m) and 2^(s - m) v over all rows, a head's output
    is o / z for any m that is near its largest score: that of the pass before nearly always is, and where it is not,
    the rows are read again. So lanes need not agree on anything between blocks.
    """
    of_head = tl.arange(0, 16) // 8
    weight_sum = tl.zeros((BLOCK, 16), tl.float32)
    total = tl.zeros((128, 16), tl.float32)
    is_far = True
    while is_far:
        highest = tl.full((BLOCK, 16), -1.0e30, tl.float32)
        weight_sum = tl.zeros((BLOCK, 16), tl.float32)
        total = tl.zeros((128, 16), tl.float32)
        for first in tl.range(0, loop_end(count), BLOCK, num_stages=STAGES):
            row = first + tl.arange(0, BLOCK)
            key = _load_rows(projected, row, count, COLUMNS)
            value = _load_rows(projected + _VALUE, row, count, COLUMNS)
            score = tl.dot(key, query, input_precision=PRECISION)  # (BLOCK, 16)
            if IS_BIASED:
                weights = tl.load(distance_weight + tl.arange(0, 16) % 8) * _LOG2_E
                place = tl.where(of_head == 0, previous, likely)
                score += _measure(positions, row, place, count) * weights[None, :]
            is_feasible = _is_feasible(open_demands, row, count, of_head, load, previous, likely)
            if RULES:
                node = tl.load(token_nodes + row, mask=row < count, other=0)
                demand = tl.maximum(tl.load(open_demands + row, mask=row < count, other=0), 0)
                is_allowed, of_moves = look(
                    rule_vectors, tl.arange(0, 16) % 8, node, demand, row < count, state, capacity, rule_facts,
                    rule_scales, rule_stops, rule_durations, rule_legs, nodes, count,
                )  # fmt: skip
                score += of_moves * _LOG2_E
                is_feasible = is_feasible & (is_allowed | (row == 0)[:, None])
            score = tl.where(is_feasible, score, -1.0e30)
            highest = tl.maximum(highest, score)
            weight = tl.exp2(tl.minimum(score - level[None, :], _MOST))  # 0 of what is not feasible
            weight_sum += weight
            total = tl.dot(tl.trans(value), weight.to(value.dtype), total, input_precision=PRECISION)
        highest_of_all = tl.max(highest, 0)
        # where the second query has nowhere to go, its answer is not wanted
        rise = tl.where(highest_of_all > -1.0e29, highest_of_all - level, 0.0)
        level += rise
        is_far = tl.max(tl.maximum(rise - _MOST, _LEAST - rise), 0) > 0.0
    weight_sum = tl.maximum(tl.sum(weight_sum, 0), 1.0e-30)
    own = tl.where(_is_own(), total / weight_sum[None, :], 0.0)
    glimpse = tl.sum(tl.reshape(own, (128, 2, 8)), 2)  # (128, 2)
    glimpse = tl.broadcast_to(glimpse[:, None, :], (128, 4, 2))
    return tl.reshape(glimpse, (128, 8)), level


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
