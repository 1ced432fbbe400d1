"""Shared parts of the kernels for the probability of routes: the memory layout, and common settings.

A segment contains the nodes that remain before a route: slot 0 is the depot, slots 1 to L are the route's customers in
order, then come the customers of later routes. So at step p = 0..L the vehicle is at slot p, slots 1..p are visited,
and the choice is slot p + 1, or the depot if p = L. The steps of a route are the rows of a tile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from dynaroute.kernels import LONGEST_ROUTE, dot_precision
from dynaroute.kernels.arithmetic import log_distance

_TILES = [1 << power for power in range(4, (LONGEST_ROUTE + 1).bit_length())]  # 16, 32, ..., 256 steps


@triton.jit
def is_of_tile(length, L: tl.constexpr):
    """Whether L steps is the smallest tile that fits a route of this many customers."""
    return (length < L) & ((length >= L // 2) | (L == 16))


@triton.jit
def find_remaining(demands, start, length, capacity, L: tl.constexpr):
    """(L,) free capacity at each step.

    The running sum is computed as a sum over all earlier steps. With `tl.cumsum`, kernels with two pipeline stages gave
    NaN for one in thirty routes of 10 to 15 customers on an H200 (Triton 3.6).
    """
    step = tl.arange(0, L)
    on_route = tl.load(demands + start + step, mask=(step > 0) & (step <= length), other=0)
    return capacity - tl.sum(tl.where(step[None, :] <= step[:, None], on_route[None, :], 0), 1)


@triton.jit
def load_rows(packed, start, limit, column, STRIDE: tl.constexpr, ROWS: tl.constexpr, DK: tl.constexpr):
    """(ROWS, DK) columns of a segment's rows; zeros from `limit` on."""
    row = tl.arange(0, ROWS)
    where = (start + row)[:, None] * STRIDE + column + tl.arange(0, DK)[None, :]
    return tl.load(packed + where, mask=(row < limit)[:, None], other=0.0)


@triton.jit
def store_rows(packed, tile, start, first, limit, column, STRIDE: tl.constexpr, ROWS: tl.constexpr, DK: tl.constexpr):
    """Store rows of a tile as columns of a segment's rows, from row `first` on."""
    row = tl.arange(0, ROWS)
    where = (start + row)[:, None] * STRIDE + column + tl.arange(0, DK)[None, :]
    tl.store(packed + where, tile.to(packed.dtype.element_ty), mask=((row >= first) & (row < limit))[:, None])


@triton.jit
def measure(positions, start, first, count, length, BLOCK: tl.constexpr, L: tl.constexpr):
    """(L, BLOCK) log-distances from the steps of a route to the nodes of a block."""
    here = positions + (start + tl.arange(0, L)) * 2
    on_route = tl.arange(0, L) <= length
    slot = first + tl.arange(0, BLOCK)
    there = positions + (start + slot) * 2
    x = tl.load(here, mask=on_route, other=0.0)[:, None] - tl.load(there, mask=slot < count, other=0.0)[None, :]
    y = tl.load(here + 1, mask=on_route, other=0.0)[:, None] - tl.load(there + 1, mask=slot < count, other=0.0)[None, :]
    return log_distance(x, y, count)


@triton.jit
def load_pairs(table, first, count, length, BLOCK: tl.constexpr, L: tl.constexpr):
    """(L, BLOCK) values of a route's steps and the nodes of a block; a row of the table has one for each node."""
    step, slot = tl.arange(0, L), first + tl.arange(0, BLOCK)
    is_pair = (step <= length)[:, None] & (slot < count)[None, :]
    return tl.load(table + step[:, None] * count + slot[None, :], mask=is_pair, other=0.0).to(tl.float32)


@triton.jit
def store_pairs(table, tile, first, count, length, BLOCK: tl.constexpr, L: tl.constexpr):
    """Store a (L, BLOCK) tile where `load_pairs` reads it."""
    step, slot = tl.arange(0, L), first + tl.arange(0, BLOCK)
    is_pair = (step <= length)[:, None] & (slot < count)[None, :]
    tl.store(table + step[:, None] * count + slot[None, :], tile.to(table.dtype.element_ty), mask=is_pair)


class Routes(NamedTuple):
    """P routes and their segments.

    Attributes
    ----------
    offsets, lengths
        (P,) starts and lengths of the segments; a length of 0 means no route.
    route_lengths
        (P,) number of customers of each route.
    capacities
        (P,) int32.
    demands
        (T,) int32.
    positions
        (T, 2) float32 in the unit square, if scores are biased by distances; otherwise empty.
    """

    offsets: Tensor
    lengths: Tensor
    route_lengths: Tensor
    capacities: Tensor
    demands: Tensor
    positions: Tensor


class RuleTerms(NamedTuple):
    """What rules beyond capacity add. Twin: `dynaroute.model.decoder.Decoder.logits` with an outlook.

    Attributes
    ----------
    first
        (P,) the first pair of each route; its pairs of a step and a node of its segment follow, step by step.
    remaining
        (T,) int32 free capacity at each step, at the token where the vehicle is.
    states
        (T, 2 d_h) what states add to queries, and to the heads' outputs; likewise.
    moves
        (heads + 1, N) what moves add to the scores of each head, and to the logits; there minus infinity where the
        rules forbid.
    """

    first: Tensor
    remaining: Tensor
    states: Tensor
    moves: Tensor


class RouteShape(NamedTuple):
    """Settings that all routes share.

    Attributes
    ----------
    longest, longest_route
        Upper bounds on the lengths of segments and routes; a route has at most LONGEST_ROUTE customers.
    heads
        Number of heads.
    clip
        C, the clip of the logits.
    shrinks
        Whether visited nodes are left out of the graph's mean.
    is_biased
        Whether scores are biased by distances.
    has_edges
        Whether a sixth projection, of the last node, is added to the heads' outputs.
    has_rules
        Whether there are `RuleTerms`.
    """

    longest: int
    longest_route: int
    heads: int
    clip: float
    shrinks: bool
    is_biased: bool
    has_edges: bool
    has_rules: bool = False

    def settings(self, packed: Tensor) -> dict[str, Any]:
        """The constants that kernels are compiled with."""
        return {
            "SHRINKS": self.shrinks,
            "IS_BIASED": self.is_biased,
            "HAS_EDGES": self.has_edges,
            "RULES": self.has_rules,
            "H": self.heads,
            "DK": self.find_dimension(packed) // self.heads,
            "PRECISION": dot_precision(packed),
        }

    def find_dimension(self, packed: Tensor) -> int:
        """d_h, of which the rows of `packed` hold five or six."""
        return packed.shape[1] // (6 if self.has_edges else 5)

    def list_tiles(self) -> list[int]:
        """The numbers of steps per tile, one launch each, smallest first."""
        return [tile for tile in _TILES if tile == _TILES[0] or tile // 2 <= self.longest_route]


class RouteGradients(NamedTuple):
    """The outputs of the backward kernels.

    Attributes
    ----------
    packed
        (T, 5 d_h or 6 d_h) gradient of the projections; initially 0.
    capacity
        (P, d_h or 2 d_h) float32: each route's part of the gradient of the capacity weights; initially 0.
    distance
        (P, heads + 1) float32: the same for the distance weights; (P, 0) without a bias.
    states, moves
        Those of `RuleTerms`; initially 0. None without rules.
    """

    packed: Tensor
    capacity: Tensor
    distance: Tensor
    states: Tensor | None = None
    moves: Tensor | None = None


def name_terms(rules: RuleTerms | None) -> dict[str, Any]:
    """Name what rules add as the kernels call it; without rules nothing, so that it is not in their code."""
    if rules is None:
        return {}
    return {
        "rule_first": rules.first,
        "rule_remaining": rules.remaining,
        "rule_states": rules.states,
        "rule_moves": rules.moves,
        "rule_plane": rules.moves.shape[1],
    }


def name_gradients(gradients: RouteGradients) -> dict[str, Any]:
    """Name the gradients of what rules add as the kernels call them; without rules nothing."""
    if gradients.moves is None:
        return {}
    return {"rule_states_gradient": gradients.states, "rule_moves_gradient": gradients.moves}
