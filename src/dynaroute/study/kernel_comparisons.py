"""Comparisons of kernels with their plain twins, and of the search on a GPU with its emulation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, get_args

import torch
from torch import Tensor

from dynaroute.base.stopping import Stopping
from dynaroute.base.vocabulary import PolicyRule
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.batch.fleet import state_types
from dynaroute.construct.choose import Chooser, Follow, MostLikely, Sample, StartAt, make_stream_keys
from dynaroute.construct.eager import construct_eagerly, decide, log_probabilities
from dynaroute.construct.fused import construct_fused, is_supported
from dynaroute.draw.variants import VARIANTS, draw_variant_set
from dynaroute.model import Policy, PolicyConfig
from dynaroute.model.encoder import AttentionLayer
from dynaroute.model.packing import Packing
from dynaroute.model.pointer import PointerConfig, PointerNetwork, score_plainly
from dynaroute.problem.solution import check
from dynaroute.search.gpu.batched_search import search_batch
from dynaroute.search.gpu.devices import KernelDevice, find_device
from dynaroute.search.gpu.emulation import emulate, find_compiler
from dynaroute.search.gpu.kernel_rules import RULES_ON_GPU
from dynaroute.search.gpu.launches import LARGEST_SMALL
from dynaroute.search.gpu.schedule import GeneticSettings, PopulationSettings
from dynaroute.training.replay.replay import replay_log_probabilities, run_layer
from dynaroute.training.step.instances import RuledTask, TrainingTask

_TIE = 1e-5  # logits this close to each other, or inputs of ReLU this close to 0, may be decided by rounding
SEARCHED = 64  # instances of each size for the search
_ITERATIONS = 2000  # iterations of each instance
_CHAINS = PopulationSettings(
    population_from=1,
    chain_iterations=1,
    most_chains=4,
    child_iterations=20,
    genetic=GeneticSettings(least=float("inf")),
)
_ISLANDS = PopulationSettings(
    genetic=GeneticSettings(least=1, chains=2, drawn=4, fewest=6, most=6, penalty_period=16, patience=64)
)
_SAMPLES = 8  # samples of an instance, to test that their common part is computed once


class Comparison(NamedTuple):
    """One comparison.

    Attributes
    ----------
    what, size
        The kernel, and the number of customers.
    difference
        The difference that was found.
    limit
        The largest difference allowed.
    """

    what: str
    size: int
    difference: float
    limit: float

    @property
    def is_right(self) -> bool:
        """Whether the difference is within its limit, which NaN is not."""
        return self.difference <= self.limit

    def describe(self) -> str:
        """A line of the table."""
        mark = "" if self.is_right else "  MISMATCH"
        return f"{self.what:32} {self.size:5} {self.difference:12.2e} {self.limit:8.1e}{mark}"


def compare_routes(policy: Policy, batch: InstanceBatch, chooser: Chooser, size: int, what: str) -> Comparison:
    """Measure the share of solutions that differ between the engines, apart from ties."""
    fused = construct_fused(policy, batch, chooser, precision=torch.float32)
    eager = construct_eagerly(policy, batch, chooser)
    differs = (fused.route != eager.route).any(1) | (fused.position != eager.position).any(1)  # (B,)
    tied = _meets_tie(policy, batch, chooser, eager)
    return Comparison(what, size, float((differs & ~tied).float().mean()), 0.0)


def compare_half_precision(policy: Policy, batch: InstanceBatch, size: int) -> Comparison:
    """Compare mean lengths of samples in float16, which training uses, and in float32; infinite if a route is wrong."""
    sample = torch.arange(len(batch), device=batch.device) % _SAMPLES
    chooser = Sample(make_stream_keys(9, batch.keys, sample))
    half = construct_fused(policy, batch, chooser, precision=torch.float16)
    exact = construct_fused(policy, batch, chooser, precision=torch.float32)
    limit = 0.01 + 0.2 * len(batch) ** -0.5  # rounding changes some samples
    loads = torch.zeros_like(half.route).scatter_add(1, half.route.clamp(min=0).long(), batch.demands)  # (B, M)
    if (half.route[:, 1:] < 0).any() or (loads > batch.capacity[:, None]).any():
        return Comparison("lengths in fp16", size, float("inf"), limit)
    difference = half.lengths(batch).double().mean() / exact.lengths(batch).double().mean() - 1
    return Comparison("lengths in fp16", size, abs(float(difference)), limit)


def compare_pointer_scores(size: int, count: int, device: str) -> Iterator[Comparison]:
    """Compare the scores of a pointer network and their gradients, with as many steps as nodes."""
    from dynaroute.kernels.pointer_score import PointerScore

    generator = torch.Generator(device).manual_seed(size)
    nodes, width = size + 1, 128
    shapes = ((count, nodes, width), (count, nodes, nodes), (width,), (count, nodes, width), (width,))
    parts = [torch.randn(shape, generator=generator, device=device) for shape in shapes]
    parts[-1] /= width  # otherwise the scores, which are long sums, would be large
    learned = [part.requires_grad_() for number, part in enumerate(parts) if number != 1]
    found, expected = PointerScore.apply(*parts), score_plainly(*parts)  # type: ignore[no-untyped-call]
    yield Comparison("pointer's scores", size, float((found - expected).detach().abs().max()), 1e-5)
    weights = torch.randn(expected.shape, generator=generator, device=device)
    pairs = zip(
        torch.autograd.grad((found * weights).sum(), learned),
        torch.autograd.grad((expected * weights).sum(), learned),
        strict=True,
    )
    largest = max(float((mine - theirs).abs().max() / theirs.abs().max()) for mine, theirs in pairs)
    yield Comparison("pointer's scores, gradient", size, largest, 1e-4)


def compare_pointer_routes(size: int, count: int, device: str) -> Comparison:
    """The share of a pointer network's samples that differ from the plain engine's; rounding may decide a few."""
    policy = PointerNetwork(PointerConfig(), generator=torch.Generator().manual_seed(1)).to(device)
    task, generator = TrainingTask(size, (20 + size // 3,)), torch.Generator(device).manual_seed(size)
    copies = task.draw(count, generator, 0).repeat_each(_SAMPLES)
    chooser = Sample(make_stream_keys(7, copies.keys, torch.arange(len(copies), device=device) % _SAMPLES))
    fused = construct_fused(policy, copies, chooser, precision=torch.float32)
    plain = construct_eagerly(policy, copies, chooser)
    differs = (fused.route != plain.route).any(1) | (fused.position != plain.position).any(1)  # (B,)
    return Comparison("pointer's routes", size, float(differs.float().mean()), 0.01)


def _meets_tie(policy: Policy, batch: InstanceBatch, chooser: Chooser, routes: RouteBatch) -> Tensor:
    """(B,) whether the two best candidates were tied at any step of these routes."""
    met = torch.zeros(len(batch), dtype=torch.bool, device=batch.device)
    with torch.inference_mode():
        for decision in decide(policy, batch, Follow(routes)):
            scores = chooser.scores(decision.logits, decision.info) if isinstance(chooser, Sample) else decision.logits
            best = scores.topk(min(2, scores.shape[1]), dim=1).values  # (P, 2)
            is_tied = (best[:, 0] - best[:, -1] < _TIE) if best.shape[1] > 1 else torch.zeros_like(best[:, 0]).bool()
            met[decision.info.trajectory] |= is_tied & decision.is_driving
    return met


def compare_layers(policy: Policy, batch: InstanceBatch, size: int) -> Iterator[Comparison]:
    """Compare the output and gradients of each encoder layer in float32, given the twin's input.

    Tokens with an input of ReLU so close to 0 that rounding decides its sign are left out of the gradients.
    """
    packing = Packing(batch.sizes + 1, batch.nodes)
    instance, node = packing.is_token.nonzero().unbind(1)  # (T,) each
    hidden = policy.encoder.embed(batch.features(instance, node, policy.dtype), node == 0).detach()  # (T, d_h)
    generator = torch.Generator(batch.device).manual_seed(size)
    outputs, gradients = [], []
    for layer in policy.encoder.layers:
        assert isinstance(layer, AttentionLayer)
        hidden.requires_grad_()
        learned = [hidden, *layer.parameters()]
        plain, fast = layer(hidden, packing), run_layer(layer, hidden, packing, by_kernels=True)  # (T, d_h) each
        middle = layer.after_attention(hidden + layer.attention(hidden, packing))  # (T, d_h)
        is_tied = (layer.feed_forward_in(middle).abs() < _TIE).any(1)  # (T,)
        weights = torch.randn(plain.shape, generator=generator, device=batch.device) * ~is_tied[:, None]  # (T, d_h)
        found, expected = (torch.autograd.grad((one * weights).sum(), learned) for one in (fast, plain))
        outputs.append(float((fast - plain).detach().abs().max()))
        gradients.append(_differ(found, expected))
        hidden = plain.detach()
    yield Comparison("encoder's layers", size, max(outputs), 1e-5)
    yield Comparison("encoder's layers, gradient", size, max(gradients), 1e-4)


def compare_replay(policy: Policy, batch: InstanceBatch, samples: int, size: int) -> Iterator[Comparison]:
    """Compare log-probabilities and gradients of the parallel replay with the sequential ones.

    First with an exact encoder; then in float32, with wider limits because rounding switches some ReLUs; then in half
    precision, where differences of log p must be small compared with the policy's entropy.
    """
    sample = torch.arange(len(batch), device=batch.device) % samples
    routes = construct_eagerly(policy, batch, Sample(make_stream_keys(5, batch.keys, sample)))
    # not from -1 to 1: weights of equal samples would cancel, and leave nothing to compare
    weights = torch.linspace(-1.0, 2.0, len(batch), device=batch.device)
    plain = log_probabilities(policy, batch, routes)  # (B,)
    expected = torch.autograd.grad((plain * weights).sum(), list(policy.parameters()))
    plain = plain.detach()
    exact = replay_log_probabilities(policy, batch, routes, samples)  # (B,)
    yield Comparison("replay, log p", size, float((plain - exact.detach()).abs().max()), 2e-4)
    found = torch.autograd.grad((exact * weights).sum(), list(policy.parameters()))
    yield Comparison("replay, gradient", size, _differ(found, expected), 1e-4)
    rounded = replay_log_probabilities(policy, batch, routes, samples, precision=torch.float32)  # (B,)
    yield Comparison("replay, log p in fp32", size, float((plain - rounded.detach()).abs().max()), 1e-3)
    found = torch.autograd.grad((rounded * weights).sum(), list(policy.parameters()))
    yield Comparison("replay, gradient in fp32", size, _differ(found, expected), 1e-2)
    entropy = -float(plain.mean())
    for name, precision, share in (("fp16", torch.float16, 0.05), ("bf16", torch.bfloat16, 0.3)):
        if precision == torch.bfloat16 and batch.device.type == "cpu":
            continue  # the interpreter does not support it
        half = replay_log_probabilities(policy, batch, routes, samples, precision=precision)
        difference = float((plain - half.detach()).abs().mean())
        yield Comparison(f"replay, log p in {name} (mean)", size, difference, 0.02 + share * entropy)


def _differ(found: Sequence[Tensor], expected: Sequence[Tensor]) -> float:
    """The largest relative norm of the difference over all parameters."""
    return max(float((a - b).norm() / b.norm().clamp(min=1e-12)) for a, b in zip(found, expected, strict=True))


def compare_all(policy: Policy, sizes: list[int], count: int, device: str) -> Iterator[Comparison]:
    """Every comparison at every size."""
    for size in sizes:
        count = min(count, max(_SAMPLES, 100_000 // size))  # the plain twin stores the scores of all pairs of nodes
        generator = torch.Generator(device).manual_seed(size)
        batch = TrainingTask(size, (20 + size // 3,)).draw(count, generator, first_key=0)
        number = torch.arange(count, device=device)
        copies = batch[: -(-count // _SAMPLES)].repeat_each(_SAMPLES)
        streams = make_stream_keys(7, copies.keys, torch.arange(len(copies), device=device) % _SAMPLES)
        comparisons: list[tuple[str, InstanceBatch, Chooser]] = [
            ("greedy routes", batch, MostLikely()),
            ("sampled routes", copies, Sample(streams)),
            ("forced start", batch, StartAt(1 + number % size, MostLikely())),
        ]
        for what, some, chooser in comparisons:
            if is_supported(policy, chooser):
                yield compare_routes(policy, some, chooser, size, what)
        if is_supported(policy, MostLikely()):
            many = 512 if device == "cuda" and size < 128 else 1  # as in training
            task = TrainingTask(size, (20 + size // 3,))
            yield compare_half_precision(policy, task.draw(many, generator, count).repeat_each(_SAMPLES), size)
        if policy.config.normalisation == "tanh":
            yield from compare_layers(policy, batch, size)
        yield from compare_replay(policy, copies[: 8 * _SAMPLES], _SAMPLES, size)


def compare_rules(size: int, count: int, device: str) -> Iterator[Comparison]:
    """Compare construction and replay where instances have rules beyond capacity, each its own."""
    config = PolicyConfig(layers=2, rules=get_args(PolicyRule), distance_bias=True, edge_scores=True)
    policy = Policy(config, generator=torch.Generator().manual_seed(1)).to(device).eval()
    task, generator = RuledTask(TrainingTask(size, (20 + size // 3,)), ("all",)), torch.Generator(device)
    batch = task.draw(count, generator.manual_seed(size), first_key=0)
    copies = batch[: -(-count // 2)].repeat_each(2)
    streams = make_stream_keys(7, copies.keys, torch.arange(len(copies), device=device) % 2)
    yield compare_routes(policy, batch, MostLikely(), size, "greedy routes with rules")
    yield compare_routes(policy, copies, Sample(streams), size, "sampled routes with rules")
    yield from compare_replay(policy, copies[:64], 2, size)


def find_search_device(device: str) -> KernelDevice:
    """What the kernels of the search run on, if policies run on this device."""
    return find_device(device) if device.startswith("cuda") else emulate(32)


def compare_search(kernels: KernelDevice, size: int, count: int = SEARCHED) -> Iterator[Comparison]:
    """Compare the batched search: with a population of chains, and for small instances with islands."""
    yield from _compare_search(kernels, size, count, "chains", _CHAINS)
    if size <= LARGEST_SMALL:
        yield from _compare_search(kernels, size, count, "islands", _ISLANDS)


def compare_search_with_rules(kernels: KernelDevice, size: int, count: int) -> Iterator[Comparison]:
    """Compare the batched search with windows, limits, pickups, open routes and several depots, judged by `check`."""
    for name in ("vrptw", "ovrpbltw", "mdovrpmbltw"):
        instances = draw_variant_set(VARIANTS[name], size, count).instances()
        batch = InstanceBatch.from_instances(instances, RULES_ON_GPU)
        starts, stopping = RouteBatch.alone(batch), Stopping(iterations=_ITERATIONS)
        found = search_batch(kernels, batch, starts, stopping, settings=_CHAINS).routes
        named = [state_types(*pair) for pair in zip(instances, found.to_solutions(batch), strict=True)]
        wrong = [bool(check(*pair)) for pair in zip(instances, named, strict=True)]
        yield Comparison(f"{name}, share of wrong routes", size, sum(wrong) / count, 0.0)
        if find_compiler() is not None:
            expected = search_batch(emulate(1), batch, RouteBatch.alone(batch), stopping, settings=_CHAINS).routes
            differs = (found.route != expected.route).any(1) | (found.position != expected.position).any(1)
            yield Comparison(f"{name}, share that differs", size, float(differs.float().mean()), 0.0)


def _compare_search(
    kernels: KernelDevice, size: int, count: int, what: str, settings: PopulationSettings
) -> Iterator[Comparison]:
    """Check that routes are valid, shorter than the start, and equal to those of the emulation."""
    batch = TrainingTask(size, (20 + size // 3,)).draw(count, torch.Generator().manual_seed(size), first_key=0)
    here = batch.to(kernels.place)
    starts = RouteBatch.alone(here)
    stopping = Stopping(iterations=_ITERATIONS * max(1, size // 20))  # enough for some generations of children
    found = search_batch(kernels, here, starts, stopping, settings=settings).routes
    loads = torch.zeros_like(found.route).scatter_add(1, found.route.clamp(min=0).long(), here.demands)  # (B, M)
    is_wrong = ((found.route < 0) & here.is_customer).any(1) | (loads > here.capacity[:, None]).any(1)  # (B,)
    yield Comparison(f"{what}, share of wrong routes", size, float(is_wrong.float().mean()), 0.0)
    ratio = found.lengths(here) / starts.lengths(here)
    yield Comparison(f"{what}, length beside the start", size, float(ratio.mean()), 1.0 if size < 5 else 0.8)
    if find_compiler() is None:
        return
    expected = search_batch(emulate(1), batch, RouteBatch.alone(batch), stopping, settings=settings).routes
    differs = (found.route.cpu() != expected.route).any(1) | (found.position.cpu() != expected.position).any(1)
    yield Comparison(f"{what}, share that differs", size, float(differs.float().mean()), 0.0)
