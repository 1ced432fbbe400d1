"""Building routes of instances of any size with kernels: the host loops over routes.

In each turn what is left of every unfinished trajectory is packed, longest first, encoded by matrix products on all
tokens and attention within segments, projected for the decoder, and one kernel drives a route of every trajectory.
The device is not waited for: see `_LateCounts`. The plain twin is `construct_eagerly`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
import triton
from torch import Tensor, nn
from torch.nn import functional as F

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.fused_choice import Choice
from dynaroute.construct.fused_rules import RuleTables
from dynaroute.kernels import dot_precision
from dynaroute.kernels.attention import AttentionShape, attention_forward
from dynaroute.kernels.drive_route import drive_routes, lay_out_tokens
from dynaroute.kernels.token_layer import TokenLayer, run_token_layer
from dynaroute.model.encoder import AttentionLayer
from dynaroute.model.policy import Policy

_LAY_OUT_BLOCK = 32
_AHEAD = 4  # turns that are prepared before the first of them is known to be over


@dataclass(frozen=True)
class RouteLaunch:
    """How the driving kernel is laid out on the machine; found by measurement (benchmarks/launches.py).

    Attributes
    ----------
    block
        Rows that a program reads at once.
    stages
        Depth of the pipeline that fetches them.
    warps
        Of a program.
    registers
        At most so many for a thread; None leaves it to the compiler.
    """

    block: int
    stages: int
    warps: int
    registers: int | None


# several narrow programs on a multiprocessor hide each other's waits; one or two had better be wide
_NARROW = RouteLaunch(block=32, stages=3, warps=4, registers=128)
_WIDE = RouteLaunch(block=128, stages=2, warps=8, registers=None)


def construct_streamed(policy: Policy, batch: InstanceBatch, choice: Choice, precision: torch.dtype) -> RouteBatch:
    """Build one solution for each instance, as `construct_eagerly` does.

    Parameters
    ----------
    policy
        On the batch's device.
    batch
        The instances.
    choice
        How the next node is chosen.
    precision
        Of the embeddings and the operands of matrix products.
    """
    with torch.no_grad():
        encoder = _StreamedEncoder(policy, precision)
        rules = None if batch.rules is None else RuleTables.of(policy, batch, batch.rules)
        drive = _RouteKernels(policy, batch, choice, rules)
        counts = _LateCounts(batch)
        # each route visits a customer at least; a static policy drives all routes in one turn
        for turn in range(batch.nodes - 1 if policy.encodes_anew else 1):
            room = counts.room_for(turn)
            if room.segments == 0:
                break
            segments = _OpenSegments.of(drive.left, room)
            tokens = drive.lay_out(encoder, segments)
            drive.drive(tokens, encoder.project(tokens, segments), segments, counts.of_turn(turn), turn)
            counts.fetch(turn)
    return drive.routes


class _Room(NamedTuple):
    """Upper bounds: of unfinished trajectories, of their tokens, of the tokens of one."""

    segments: int
    tokens: int
    longest: int


class _LateCounts:
    """How much is left after each turn, as the kernels count it and the host reads it: some turns late.

    So the host prepares turns while the device still works on those before, and neither waits. What is left only
    shrinks, so that late counts are room enough; they cost programs that find nothing to do, and a few empty turns in
    the end.
    """

    def __init__(self, batch: InstanceBatch) -> None:
        self._before = _Room(len(batch), int(batch.sizes.sum()) + len(batch), batch.nodes)
        # a fourth column, so that rows are aligned alike: else kernels would be compiled anew
        self._counts = torch.zeros(batch.nodes, 4, dtype=torch.int32, device=batch.device)
        self._host = self._counts
        self._copies: list[torch.cuda.Event] = []
        self._known = 0  # turns whose counts the host has
        if batch.device.type == "cuda":
            self._host = torch.zeros(batch.nodes, 4, dtype=torch.int32, pin_memory=True)

    def of_turn(self, turn: int) -> Tensor:
        """Where the kernels count."""
        return self._counts[turn]

    def fetch(self, turn: int) -> None:
        """Have a turn's counts copied to the host when the device gets there."""
        if self._host is self._counts:
            self._known = turn  # and not this one's, which no device would have told so soon
            return
        self._host[turn].copy_(self._counts[turn], non_blocking=True)
        copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
        copied.record()
        self._copies.append(copied)

    def room_for(self, turn: int) -> _Room:
        """What was left after the latest turn that the host knows of."""
        if self._copies and turn >= _AHEAD:
            self._copies[turn - _AHEAD].synchronize()
        while self._known < len(self._copies) and self._copies[self._known].query():  # type: ignore[no-untyped-call]
            self._known += 1
        return _Room(*self._host[self._known - 1, :3].tolist()) if self._known else self._before


class _OpenSegments(NamedTuple):
    """What is left of the trajectories, longest first; those past the last unfinished one are empty.

    Attributes
    ----------
    trajectories, offsets, lengths
        (P,) index in the batch, first token, number of tokens.
    tokens
        (1,) number of tokens of all.
    room
        Upper bounds of all.
    """

    trajectories: Tensor
    offsets: Tensor
    lengths: Tensor
    tokens: Tensor
    room: _Room

    @classmethod
    def of(cls, left: Tensor, room: _Room) -> _OpenSegments:
        """Lay out segments for (B,) customers left."""
        in_order = left.sort(descending=True, stable=True)
        customers = in_order.values[: room.segments]  # (P,)
        lengths = customers + (customers > 0)
        ends = lengths.cumsum(0)  # (P,)
        return cls(in_order.indices, ends - lengths, lengths, ends[-1:], room)


class _Tokens(NamedTuple):
    """All segments' nodes.

    Attributes
    ----------
    hidden, packed
        (T, 128) initial embeddings, and (T, 384) queries, keys and values of the first layer.
    nodes, open_demands
        (T,) node numbers, and demands: -1 where not open.
    positions
        (T, 2); empty without a bias by distances.
    attended
        (T, 128) room for what attention gives.
    """

    hidden: Tensor
    packed: Tensor
    nodes: Tensor
    open_demands: Tensor
    positions: Tensor
    attended: Tensor


class _StreamedEncoder:
    """A policy's encoder, with the decoder's projections, in the precision of its products."""

    def __init__(self, policy: Policy, precision: torch.dtype) -> None:
        self.precision = precision
        modules = [layer for layer in policy.encoder.layers if isinstance(layer, AttentionLayer)]
        weights = [module.weights(precision) for module in modules]
        first = modules[0].query_key_value.weight  # (3 d_h, d_h)
        depot = policy.encoder.embed_depot
        depot_weight = F.pad(depot.weight[:, :3], (0, max(0, 3 - depot.weight.shape[1])))  # (d_h, 3)
        customer = policy.encoder.embed_customer
        self.tables = (
            _tabulate(customer.weight[:, :3], customer.bias, first),
            _tabulate(depot_weight, depot.bias, first),
        )
        self.rule_tables = tuple(
            torch.cat([each.weight[:, 3:], first @ each.weight[:, 3:]]).T.contiguous()  # (6, 4 d_h)
            for each in (customer, depot)
        )
        following = [*(own[0] for own in weights[1:]), policy.fold().to(precision)]
        self.layers = [
            _Layer(module, TokenLayer._make((*own[1:], next_one)))
            for module, own, next_one in zip(modules, weights, following, strict=True)
        ]

    def project(self, tokens: _Tokens, segments: _OpenSegments) -> Tensor:
        """Eqs 4 to 11, 13, 17 and 18: (T, 5 d_h), or (T, 6 d_h) with edges, from initial embeddings."""
        hidden, packed = tokens.hidden, tokens.packed
        for layer in self.layers:
            hidden, packed = layer.run(hidden, packed, tokens.attended, segments)
        return packed


def _tabulate(weight: Tensor, bias: Tensor, first: Tensor) -> Tensor:
    """(4, 4 d_h): what (x, y, demand / capacity, 1) are multiplied by for eq 2, and for eq 3 after it."""
    embedding = torch.cat([weight, bias[:, None]], 1)  # (d_h, 4)
    return torch.cat([embedding, first @ embedding]).T.contiguous()


class _Layer(NamedTuple):
    """A layer, and what it does to tokens besides attention."""

    module: AttentionLayer
    rest: TokenLayer

    def run(self, hidden: Tensor, packed: Tensor, attended: Tensor, segments: _OpenSegments) -> tuple[Tensor, Tensor]:
        """Eqs 3 to 10: (T, d_h), and its products with what follows, from (T, 3 d_h) queries, keys and values."""
        shape = AttentionShape(segments.room.longest, self.module.heads, self.module.scale)
        attention_forward(packed, segments.offsets, segments.lengths, shape, attended)
        if isinstance(self.module.after_attention, nn.Tanh):
            return run_token_layer(attended, hidden, segments.tokens, self.rest)
        rest = self.rest
        middle = _normalise(self.module.after_attention, hidden + F.linear(attended, rest.output))
        inner = F.relu(F.linear(middle, rest.weight_in, rest.bias_in))
        fed = _normalise(self.module.after_feed_forward, middle + F.linear(inner, rest.weight_out, rest.bias_out))
        return fed, F.linear(fed, rest.following)


def _normalise(normalisation: nn.Module, hidden: Tensor) -> Tensor:
    normalised: Tensor = normalisation(hidden.float())
    return normalised.to(hidden.dtype)


class _RouteKernels:
    """Where all trajectories are, and the kernels that move them."""

    def __init__(self, policy: Policy, batch: InstanceBatch, choice: Choice, rules: RuleTables | None) -> None:
        self.rules = rules
        self.config, self.encodes_anew = policy.config, policy.encodes_anew
        self.choice = choice
        self.locations = batch.locations.float().contiguous()
        self.demands, self.capacity = batch.demands.contiguous(), batch.capacity.contiguous()
        self.sizes = batch.sizes.contiguous()
        self.capacity_weights = policy.decoder.capacity_weights  # (1 or 2, d_h)
        weight = policy.decoder.distance_weight
        self.distance_weight = self.capacity_weights if weight is None else weight  # not read, if there is none
        self.left = batch.sizes.int()  # (B,)
        self.left_nodes = torch.arange(batch.nodes, dtype=torch.int32, device=batch.device).repeat(len(batch), 1)
        self.routes = RouteBatch.unvisited(batch)
        self._tokens: _Tokens | None = None

    def lay_out(self, encoder: _StreamedEncoder, segments: _OpenSegments) -> _Tokens:
        """Pack and embed what is left."""
        room, device = segments.room, self.left.device
        if self._tokens is None:
            self._tokens = _Tokens(
                # rows in no segment must stay finite
                hidden=torch.zeros(room.tokens, 128, dtype=encoder.precision, device=device),
                packed=torch.zeros(room.tokens, 384, dtype=encoder.precision, device=device),
                nodes=torch.empty(room.tokens, dtype=torch.int32, device=device),
                open_demands=torch.empty(room.tokens, dtype=torch.int32, device=device),
                positions=torch.empty(room.tokens if self.config.distance_bias else 0, 2, device=device),
                attended=torch.zeros(room.tokens, 128, dtype=encoder.precision, device=device),
            )
        tokens = _Tokens(*(part[: room.tokens] for part in self._tokens))  # what is left only shrinks
        lay_out_tokens[(room.segments, triton.cdiv(room.longest, _LAY_OUT_BLOCK))](
            self.locations,
            self.demands,
            self.capacity,
            self.left_nodes,
            segments.trajectories,
            segments.offsets,
            segments.lengths,
            *encoder.tables,
            *tokens[:-1],
            self.left_nodes.shape[1],
            IS_BIASED=self.config.distance_bias,
            BLOCK=_LAY_OUT_BLOCK,
            **({} if self.rules is None else self.rules.name_features(*encoder.rule_tables)),
        )
        return tokens

    def drive(self, tokens: _Tokens, projected: Tensor, segments: _OpenSegments, counts: Tensor, turn: int) -> None:
        """Drive a route of every trajectory, or, if the policy is static, all of them."""
        choice, launch = self.choice, self._choose_launch(segments.room.segments)
        drive_routes[(segments.room.segments,)](
            projected,
            tokens.nodes,
            tokens.open_demands,
            tokens.positions,
            segments.trajectories,
            segments.offsets,
            segments.lengths,
            self.capacity,
            self.sizes,
            self.sizes if choice.starts is None else choice.starts,
            self.sizes if choice.stream_keys is None else choice.stream_keys,
            self.capacity_weights,
            self.distance_weight,
            self.left,
            self.left_nodes,
            counts,
            self.routes.route,
            self.routes.position,
            self.left_nodes.shape[1],
            turn,
            choice.temperature,
            self.config.clip,
            IS_DYNAMIC=self.encodes_anew,
            SHRINKS=self.config.shrinking_mean,
            IS_BIASED=self.config.distance_bias,
            HAS_EDGES=self.config.edge_scores,
            IS_SAMPLED=choice.stream_keys is not None,
            IS_FORCED=choice.starts is not None,
            PRECISION=dot_precision(projected),
            BLOCK=launch.block,
            STAGES=launch.stages,
            num_warps=launch.warps,
            maxnreg=launch.registers,
            **({} if self.rules is None else self.rules.name_moves()),
        )

    def _choose_launch(self, programs: int) -> RouteLaunch:
        if self.left.device.type == "cpu":
            return _WIDE
        processors = torch.cuda.get_device_properties(self.left.device).multi_processor_count
        return _WIDE if programs <= 2 * processors else _NARROW
