"""The scores of a pointer network, computed without storing the array of all steps, nodes and columns.

Twin: `dynaroute.model.pointer.score_plainly`.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from dynaroute.kernels.arithmetic import loop_end, tanh

_BLOCK, _WARPS = 32, 8  # nodes and warps of a program


@triton.jit
def _score(places, demands, of_demand, query, weight, out, steps, nodes, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    """u[p, s, m] = sum over k of v[k] tanh(A[p, m, k] + D[p, s, m] e[k] + Q[p, s, k]) for some nodes m of a vehicle p.

    The data of the nodes stay on chip while the program loops over the steps.
    """
    vehicle = tl.program_id(0).to(tl.int64)
    node = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    column = tl.arange(0, WIDTH)
    is_node = node < nodes
    where = (vehicle * nodes + node)[:, None] * WIDTH + column[None, :]
    at_place = tl.load(places + where, mask=is_node[:, None], other=0.0)  # (BLOCK, WIDTH)
    per_demand = tl.load(of_demand + column)
    weights = tl.load(weight + column)
    for step in range(loop_end(steps)):
        row = vehicle * steps + step
        demand = tl.load(demands + row * nodes + node, mask=is_node, other=0.0)
        asked = tl.load(query + row * WIDTH + column)
        inner = at_place + demand[:, None] * per_demand[None, :] + asked[None, :]
        score = tl.sum(tanh(inner) * weights[None, :], axis=1)
        tl.store(out + row * nodes + node, score, mask=is_node)


@triton.jit
def _score_backward(
    places,
    demands,
    of_demand,
    query,
    weight,
    out_gradient,
    place_gradient,
    query_gradient,
    partial_gradients,
    steps,
    nodes,
    BLOCK: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """With t the tanh and g the gradient of u, the gradient of each sum inside is w = g v (1 - t²).

    The gradient of v is the sum of g t; of A, the sum of w over steps; of Q, over nodes; of e, the sum of w D over all.
    Programs of a vehicle add up the gradient of Q; those of e and v are written as one row per program.
    """
    vehicle = tl.program_id(0).to(tl.int64)
    node = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    column = tl.arange(0, WIDTH)
    is_node = node < nodes
    where = (vehicle * nodes + node)[:, None] * WIDTH + column[None, :]
    at_place = tl.load(places + where, mask=is_node[:, None], other=0.0)  # (BLOCK, WIDTH)
    per_demand = tl.load(of_demand + column)
    weights = tl.load(weight + column)
    of_places = tl.zeros((BLOCK, WIDTH), tl.float32)
    of_per_demand = tl.zeros((BLOCK, WIDTH), tl.float32)
    of_weights = tl.zeros((BLOCK, WIDTH), tl.float32)
    for step in range(loop_end(steps)):
        row = vehicle * steps + step
        demand = tl.load(demands + row * nodes + node, mask=is_node, other=0.0)
        gradient = tl.load(out_gradient + row * nodes + node, mask=is_node, other=0.0)
        asked = tl.load(query + row * WIDTH + column)
        curved = tanh(at_place + demand[:, None] * per_demand[None, :] + asked[None, :])
        inside = gradient[:, None] * weights[None, :] * (1.0 - curved * curved)
        of_places += inside
        of_per_demand += inside * demand[:, None]
        of_weights += gradient[:, None] * curved
        tl.atomic_add(query_gradient + row * WIDTH + column, tl.sum(inside, axis=0))
    tl.store(place_gradient + where, of_places, mask=is_node[:, None])
    partial = partial_gradients + (vehicle * tl.num_programs(1) + tl.program_id(1)) * 2 * WIDTH
    tl.store(partial + column, tl.sum(of_per_demand, axis=0))
    tl.store(partial + WIDTH + column, tl.sum(of_weights, axis=0))


class PointerScore(torch.autograd.Function):
    """(P, S, M) scores v^T tanh(A + D e + Q), in float32."""

    @staticmethod
    def forward(ctx: Any, places: Tensor, demands: Tensor, of_demand: Tensor, query: Tensor, weight: Tensor) -> Tensor:
        """Take A (P, M, d), D (P, S, M), e (d,), Q (P, S, d) and v (d,), d a power of 2."""
        given = tuple(part.contiguous() for part in (places, demands, of_demand, query, weight))
        ctx.save_for_backward(*given)
        vehicles, steps, nodes = demands.shape
        out = torch.empty_like(given[1])
        grid = (vehicles, triton.cdiv(nodes, _BLOCK))
        _score[grid](*given, out, steps, nodes, BLOCK=_BLOCK, WIDTH=places.shape[-1], num_warps=_WARPS)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradients of all inputs except D."""
        given = ctx.saved_tensors
        places, demands, _, query, _ = given
        vehicles, steps, nodes = demands.shape
        width = places.shape[-1]
        grid = (vehicles, triton.cdiv(nodes, _BLOCK))
        of_places, of_query = torch.empty_like(places), torch.zeros_like(query)
        partial = places.new_empty(grid[0] * grid[1], 2, width)
        _score_backward[grid](
            *given,
            gradients[0].contiguous(),
            of_places,
            of_query,
            partial,
            steps,
            nodes,
            BLOCK=_BLOCK,
            WIDTH=width,
            num_warps=_WARPS,
        )
        of_demand, of_weight = partial.sum(0)
        return of_places, None, of_demand, of_query, of_weight
