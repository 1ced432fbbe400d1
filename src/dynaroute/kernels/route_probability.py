"""Differentiable log-probabilities of whole routes, all steps at once (eqs 12 to 20 under teacher forcing).

Segments of up to LONGEST_SEGMENT nodes are one tile each (`route_tile`); longer ones are read in blocks of nodes
(`route_stream`). Twin: `dynaroute.training.replay.replay.route_log_probabilities`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dynaroute.kernels import LONGEST_SEGMENT
from dynaroute.kernels.route_parts import RouteGradients, Routes, RouteShape, RuleTerms
from dynaroute.kernels.route_stream import StreamedSteps, run_stream, run_stream_backward
from dynaroute.kernels.route_tile import run_tiles, run_tiles_backward


class RouteLogProbability(torch.autograd.Function):
    """(P,) log-probabilities of P routes from packed projections; see the kernels for the mathematics."""

    @staticmethod
    def forward(
        ctx: Any,
        packed: Tensor,
        capacity_weight: Tensor,
        distance_weight: Tensor,
        routes: Routes,
        shape: RouteShape,
        steps: int,
        states: Tensor | None = None,
        moves: Tensor | None = None,
        rules: tuple[Tensor, Tensor] | None = None,
    ) -> Tensor:
        """Eqs 12 to 20.

        Parameters
        ----------
        ctx
            PyTorch's context.
        packed
            (T, 5 d_h) the key, value, logit key, graph and last projections of every token; (T, 6 d_h) with edges.
        capacity_weight
            (d_h,) float32, for queries; (2 d_h,) with edges, the second half for the heads' outputs.
        distance_weight
            (heads + 1,) float32; empty without a bias.
        routes
            The routes.
        shape
            Settings that all routes share.
        steps
            Total number of steps to allocate memory for, including returns.
        states, moves, rules
            The fields of `RuleTerms`, the two last ones first, which have gradients; None without rules.
        """
        out = torch.zeros(len(routes.lengths), dtype=torch.float32, device=packed.device)
        given = (*routes, capacity_weight, distance_weight)
        terms = None if rules is None or states is None or moves is None else RuleTerms(*rules, states, moves)
        run_tiles(packed, given, shape, out, terms)
        kept = run_stream(packed, given, shape, out, steps, terms) if shape.longest > LONGEST_SEGMENT else ()
        ctx.save_for_backward(packed, *(terms or ()), *given, *kept)
        ctx.shape = shape
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradients of the projections, the capacity weight, the distance weights, and what rules add."""
        shape: RouteShape = ctx.shape
        packed, *others = ctx.saved_tensors
        rules = None
        if shape.has_rules:
            rules, others = RuleTerms(*others[: len(RuleTerms._fields)]), others[len(RuleTerms._fields) :]
        given, kept = tuple(others[: len(Routes._fields) + 2]), others[len(Routes._fields) + 2 :]
        out_gradient = gradients[0].contiguous()
        of_capacity, of_distance = (
            torch.zeros(len(out_gradient), len(weight), dtype=torch.float32, device=packed.device)
            for weight in given[-2:]
        )
        into = RouteGradients(torch.zeros_like(packed), of_capacity, of_distance)
        if rules is not None:
            into = into._replace(states=torch.zeros_like(rules.states), moves=torch.zeros_like(rules.moves))
        run_tiles_backward(packed, given, shape, out_gradient, into, rules)
        if kept:
            run_stream_backward(packed, given, shape, StreamedSteps(*kept), out_gradient, into, rules)
        of_rest = (None, None, None, into.states, into.moves, None)
        return into.packed, into.capacity.sum(0), into.distance.sum(0), *of_rest
