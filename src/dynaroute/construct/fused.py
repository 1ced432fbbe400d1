"""Build routes with kernels, without waiting for the GPU in between.

Instances that fit in a tile need one launch for whole solutions (`fused_kernel`), larger ones a few launches per route
(`fused_stream`). The plain twin is `construct_eagerly`: in float32, greedy routes are the same up to ties, and so are
sampled routes with the same seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.choose import Chooser
from dynaroute.construct.eager import construct_eagerly
from dynaroute.construct.fused_choice import Choice, read_choice
from dynaroute.construct.fused_pointer import construct_pointer, has_pointer_kernel
from dynaroute.construct.fused_rules import RuleTables, name_depots
from dynaroute.kernels import dot_precision
from dynaroute.kernels.weight_layout import WIDTH
from dynaroute.model.changes import find_change, warn_once
from dynaroute.model.encoder import AttentionLayer
from dynaroute.model.pointer import PointerNetwork
from dynaroute.model.policy import Policy

FUSED_KINDS = ("AM-D", "AM", "RL")  # the kinds of policy that kernels support

_LARGEST_TILE = 128


@dataclass(frozen=True)
class _WholeLaunch:
    """Launch parameters of the kernel, found by measurement.

    Attributes
    ----------
    tile
        Rows of a program's tile.
    warps
        Warps per program.
    stages
        Depth of the pipelines that load weights.
    programs
        Programs per multiprocessor.
    is_resident
        Whether keys and values stay on chip during a route, or are loaded at every step.
    """

    tile: int
    warps: int
    stages: int
    programs: int
    is_resident: bool


_WHOLE_TILE = _WholeLaunch(tile=128, warps=8, stages=2, programs=1, is_resident=True)
_EXACT_TILE = _WholeLaunch(tile=128, warps=8, stages=1, programs=1, is_resident=False)
_TWO_TILES = _WholeLaunch(tile=64, warps=4, stages=2, programs=2, is_resident=True)
_THREE_TILES = _WholeLaunch(tile=64, warps=4, stages=2, programs=3, is_resident=True)


def is_supported(policy: Policy, chooser: Chooser) -> bool:
    """Whether there are kernels for this policy and chooser, on any device.

    Parameters
    ----------
    policy
        The policy; if only a change to it prevents kernels, a warning says so once.
    chooser
        How the next node is chosen.
    """
    is_known = (
        policy.known_kind in FUSED_KINDS
        and _has_known_shape(policy)
        and policy.dtype == torch.float32
        and not (policy.config.normalisation == "batch" and policy.training)
        and read_choice(chooser) is not None
    )
    change = find_change(policy) if is_known else ""
    if change:
        warn_once(change)
    return is_known and not change


def _has_known_shape(policy: Policy) -> bool:
    if isinstance(policy, PointerNetwork):
        return has_pointer_kernel(policy)
    return (policy.config.dimension, policy.config.heads, policy.config.feed_forward) == (128, 8, 512)


def construct_fused(
    policy: Policy, batch: InstanceBatch, chooser: Chooser, *, precision: torch.dtype | None = None
) -> RouteBatch:
    """Build one solution for each instance, as `construct_eagerly` does.

    Parameters
    ----------
    policy
        The policy, on the batch's device.
    batch
        The instances.
    chooser
        How the next node is chosen: `MostLikely`, `Sample`, or `StartAt` followed by one of them.
    precision
        Precision of the operands of matrix products: float16, the default on a GPU, because tanh keeps embeddings in
        its range and it has three bits more than bfloat16; bfloat16; or float32, the default in Triton's interpreter,
        which gives the plain engine's routes. Sums, softmax, logits and noise are always in float32.
    """
    choice = read_choice(chooser)
    assert choice is not None
    if precision is None:
        precision = torch.float32 if batch.device.type == "cpu" else torch.float16
    if isinstance(policy, PointerNetwork):
        return construct_pointer(policy, batch, choice, precision)
    if batch.nodes <= _LARGEST_TILE:
        return _construct_whole(policy, batch, choice, precision)

    # sizes may be mixed: each instance uses the faster kernel for its size
    tokens = batch.sizes + 1 if batch.further_depots is None else batch.sizes + 1 + batch.further_depots.sum(1)
    in_order = (tokens > _LARGEST_TILE).sort(stable=True)  # small instances first
    small = len(batch) - int(in_order.values.sum())
    routes = RouteBatch.unvisited(batch)
    for rows, way in ((in_order.indices[:small], _construct_whole), (in_order.indices[small:], _construct_large)):
        if len(rows):
            some = way(policy, batch[rows], choice.take(rows), precision)
            routes = routes.with_rows(rows, some)
    return routes


def _construct_large(policy: Policy, batch: InstanceBatch, choice: Choice, precision: torch.dtype) -> RouteBatch:
    """Build all routes of instances that do not fit in a tile; from several depots without kernels."""
    from dynaroute.construct.fused_stream import construct_streamed

    if batch.further_depots is not None:
        return construct_eagerly(policy, batch, choice.to_chooser())
    return construct_streamed(policy, batch, choice, precision)


def _construct_whole(policy: Policy, batch: InstanceBatch, choice: Choice, precision: torch.dtype) -> RouteBatch:
    """Build all routes of all instances with one launch."""
    from dynaroute.kernels.fused_kernel import build_solutions

    is_interpreted = batch.device.type == "cpu"
    config, launch = policy.config, _choose_launch(batch, choice, precision)
    programs = min(len(batch), launch.programs * _multiprocessors(batch.device))
    with torch.no_grad():
        weights = PackedWeights.pack(policy, precision)
        routes = RouteBatch.unvisited(batch)
        build_solutions[(programs,)](
            batch.locations.float().contiguous(),
            batch.demands.contiguous(),
            batch.capacity.contiguous(),
            (batch.sizes if batch.further_depots is None else batch.sizes + batch.further_depots.sum(1)).contiguous(),
            batch.keys.contiguous(),
            batch.sizes if choice.starts is None else choice.starts,
            batch.sizes if choice.stream_keys is None else choice.stream_keys,
            _share_out(batch, programs, policy.encodes_anew),
            weights.matrices,
            weights.vectors,
            torch.empty_like(routes.route),
            weights.matrices.new_empty(programs, 6 if config.edge_scores else 5, launch.tile, config.dimension),
            routes.route,
            routes.position,
            batch.nodes,
            choice.temperature,
            config.clip,
            config.attention_scale,
            layers=config.layers,
            is_dynamic=policy.encodes_anew,
            shrinks=config.shrinking_mean,
            is_biased=config.distance_bias,
            has_edges=config.edge_scores,
            has_batch_norm=config.normalisation == "batch",
            is_sampled=choice.stream_keys is not None,
            is_forced=choice.starts is not None,
            is_resident=launch.is_resident,
            native=precision != torch.float32 and not is_interpreted,
            precision=dot_precision(weights.matrices),
            tile=launch.tile,
            num_warps=launch.warps,
            num_stages=launch.stages,
            **({} if batch.rules is None else RuleTables.of(policy, batch, batch.rules).name()),
            **({} if batch.rules is None or routes.depot is None else name_depots(batch.rules, routes.depot)),
        )
    return routes


def _choose_launch(batch: InstanceBatch, choice: Choice, precision: torch.dtype) -> _WholeLaunch:
    """Choose the launch that was fastest on an H200 (docs/results.md); an instance must fit in the tile."""
    if precision == torch.float32:
        return _EXACT_TILE
    if batch.nodes <= 32:
        return _TWO_TILES
    # samples of an instance share segments, so half a tile is enough
    is_sampled = choice.stream_keys is not None
    return _THREE_TILES if is_sampled and batch.nodes <= 64 and len(batch) >= 4096 else _WHOLE_TILE


def _share_out(batch: InstanceBatch, programs: int, encodes_anew: bool) -> Tensor:
    """(P + 1,) bounds between the trajectories of programs, so that all have about the same work.

    Neighbours stay together, because attempts at one instance share states. The work of a trajectory depends on its
    size and its number of routes, and differs by a factor of fifty among instances of all kinds.
    """
    routes = torch.ones_like(batch.sizes)  # (B,)
    if encodes_anew:
        routes += batch.demands.sum(1) // batch.capacity
    # encoding a tile takes as long as sixteen steps; in integers, so that the bounds do not depend on rounding
    work = batch.sizes * (batch.sizes + 16 * routes)
    done = 2 * work.cumsum(0) - work  # twice the work done at the middle of each
    total = 2 * work.sum()
    shares = total * torch.arange(1, programs, device=batch.device) // programs
    bounds = torch.full((programs + 1,), len(batch), dtype=torch.int32, device=batch.device)
    bounds[0] = 0
    bounds[1:-1] = torch.searchsorted(done, shares)
    return bounds


def _multiprocessors(device: torch.device) -> int:
    # the interpreter runs programs one after the other: two are enough to show whether they disturb each other
    return 2 if device.type == "cpu" else torch.cuda.get_device_properties(device).multi_processor_count


class PackedWeights(NamedTuple):
    """All parameters, in the order of their use.

    Attributes
    ----------
    matrices
        For each layer W^Q, W^K, W^V, W^O and the two matrices of the feed-forward sub-layer, with outputs as rows; then
        the result of `Decoder.fold`.
    vectors
        Float32: weights (128, 3) and bias (128) of the customers' embedding, then of the depot's; the capacity's part
        of the query and, with edges, of the heads' outputs (otherwise zeros); the weights of distances in the heads and
        the logits, padded to 16; for each layer the two biases of the feed-forward sub-layer and, with batch
        normalisation, factor and shift of both normalisations.
    """

    matrices: Tensor
    vectors: Tensor

    @classmethod
    def pack(cls, policy: Policy, dtype: torch.dtype) -> PackedWeights:
        """Copy a policy's parameters.

        Parameters
        ----------
        policy
            The policy. With batch normalisation it must be in evaluation mode: its running statistics are used.
        dtype
            Type of the matrices.
        """
        encoder, decoder = policy.encoder, policy.decoder
        layers = [layer for layer in encoder.layers if isinstance(layer, AttentionLayer)]
        matrices = [matrix.reshape(-1) for layer in layers for matrix in _matrices(layer)]
        depot = encoder.embed_depot.weight[:, :3]  # (128, 2 or 3)
        capacity = decoder.capacity_weights.flatten()  # (128,) or (256,)
        vectors = [
            encoder.embed_customer.weight[:, :3].reshape(-1),
            encoder.embed_customer.bias,
            nn.functional.pad(depot, (0, 3 - depot.shape[1])).reshape(-1),
            encoder.embed_depot.bias,
            nn.functional.pad(capacity, (0, 2 * WIDTH - len(capacity))),
            _pad_distance_weight(policy),
            *(vector for layer in layers for vector in _vectors(layer)),
        ]
        return cls(
            matrices=torch.cat([*matrices, policy.fold().reshape(-1)]).to(dtype),
            vectors=torch.cat(vectors).float(),
        )


def _pad_distance_weight(policy: Policy) -> Tensor:
    """(16,) weights of distances; zeros if there is no bias."""
    decoder = policy.decoder
    weight = decoder.key.weight.new_zeros(0) if decoder.distance_weight is None else decoder.distance_weight
    return nn.functional.pad(weight, (0, 16 - len(weight)))


def _matrices(layer: AttentionLayer) -> tuple[Tensor, ...]:
    linear = (layer.query_key_value, layer.output, layer.feed_forward_in, layer.feed_forward_out)
    return tuple(part.weight for part in linear)


def _vectors(layer: AttentionLayer) -> list[Tensor]:
    vectors: list[Tensor] = [layer.feed_forward_in.bias, layer.feed_forward_out.bias]
    for normalisation in (layer.after_attention, layer.after_feed_forward):
        if isinstance(normalisation, nn.BatchNorm1d):
            vectors += _affine(normalisation)
    return vectors


def _affine(normalisation: nn.BatchNorm1d) -> list[Tensor]:
    """The factor and shift of a batch normalisation in evaluation mode."""
    assert normalisation.running_mean is not None
    assert normalisation.running_var is not None
    factor = normalisation.weight * (normalisation.running_var + normalisation.eps).rsqrt()
    return [factor, normalisation.bias - normalisation.running_mean * factor]
