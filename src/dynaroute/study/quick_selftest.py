"""Every kind of kernel once, in about a minute: ``python -m dynaroute.selftest --quick``.

Nearly all the time of a self test goes into compiling kernels, anew for each tile, precision and way of choosing. So
two sizes have to do, one on either side of the largest tile, with vehicles so small that all routes fit in the smallest
tile of steps; and the parts run beside each other, each in a process of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from typing import NamedTuple

import torch

from dynaroute.base.machine import count_cores
from dynaroute.batch import InstanceBatch
from dynaroute.construct.choose import MostLikely, Sample, make_stream_keys
from dynaroute.model import Policy, PolicyConfig
from dynaroute.study.kernel_comparisons import (
    Comparison,
    compare_half_precision,
    compare_layers,
    compare_pointer_routes,
    compare_pointer_scores,
    compare_replay,
    compare_routes,
    compare_rules,
    compare_search,
    find_search_device,
)
from dynaroute.training.step.instances import TrainingTask

_CAPACITY = 36  # about seven customers a route, and hardly ever the sixteen that need another tile of steps


@dataclass(frozen=True)
class Scope:
    """What a part compares.

    Attributes
    ----------
    device
        Where the kernels run.
    small, large
        Customers: up to 30, and more than fit in a tile.
    count
        Instances of each size, or routes of each.
    """

    device: str
    small: int
    large: int
    count: int


class PartOutcome(NamedTuple):
    """What a part found.

    Attributes
    ----------
    part
        Its name.
    comparisons
        All that it made.
    seconds
        How long it took, without the start of its process.
    error
        What stopped it, if something did.
    """

    part: str
    comparisons: list[Comparison]
    seconds: float
    error: str = ""

    @property
    def is_right(self) -> bool:
        """Whether it came to its end, and all comparisons are right."""
        return not self.error and all(comparison.is_right for comparison in self.comparisons)


def _make_policy(scope: Scope) -> Policy:
    """Two layers: what follows a layer is another one, or the decoder, and both are kernels of their own."""
    policy = Policy(PolicyConfig(layers=2), generator=torch.Generator().manual_seed(1))
    return policy.to(scope.device).eval()


def _draw(scope: Scope, size: int) -> InstanceBatch:
    generator = torch.Generator(scope.device).manual_seed(size)
    return TrainingTask(size, (_CAPACITY,)).draw(scope.count, generator, first_key=0)


def _make_chooser(batch: InstanceBatch) -> Sample:
    return Sample(make_stream_keys(7, batch.keys, torch.zeros(len(batch), dtype=torch.int64, device=batch.device)))


def _compare_greedy(scope: Scope) -> Iterator[Comparison]:
    batch = _draw(scope, scope.small)
    yield compare_routes(_make_policy(scope), batch, MostLikely(), scope.small, "greedy routes")


def _compare_sampled(scope: Scope) -> Iterator[Comparison]:
    policy, batch = _make_policy(scope), _draw(scope, scope.small)
    yield compare_routes(policy, batch, _make_chooser(batch), scope.small, "sampled routes")
    yield compare_half_precision(policy, batch, scope.small)


def _compare_large(scope: Scope) -> Iterator[Comparison]:
    policy, batch = _make_policy(scope), _draw(scope, scope.large)
    yield compare_routes(policy, batch, MostLikely(), scope.large, "greedy routes")
    yield compare_routes(policy, batch, _make_chooser(batch), scope.large, "sampled routes")
    yield compare_half_precision(policy, batch, scope.large)


def _compare_replay(scope: Scope) -> Iterator[Comparison]:
    """Late routes of large instances leave few customers: their segments are tiles, the others are streamed."""
    batch = _draw(scope, scope.large)[: -(-scope.count // 8)]
    yield from compare_replay(_make_policy(scope), batch.repeat_each(2), 2, scope.large)


def _compare_layers_and_pointer(scope: Scope) -> Iterator[Comparison]:
    yield from compare_layers(_make_policy(scope), _draw(scope, scope.small), scope.small)
    yield from compare_pointer_scores(scope.small, scope.count, scope.device)
    yield compare_pointer_routes(scope.small, -(-scope.count // 8), scope.device)


def _compare_search(scope: Scope) -> Iterator[Comparison]:
    kernels = find_search_device(scope.device)
    yield from compare_search(kernels, scope.small, scope.count)
    yield from compare_search(kernels, scope.large, -(-scope.count // 8))


def _compare_rules(scope: Scope) -> Iterator[Comparison]:
    yield from compare_rules(scope.small, scope.count, scope.device)
    if scope.device.startswith("cuda"):  # where Triton interprets them, tests let small instances pass as large ones
        yield from compare_rules(scope.large, -(-scope.count // 4), scope.device)


# those that take longest first
PARTS: dict[str, Callable[[Scope], Iterator[Comparison]]] = {
    "replay": _compare_replay,
    "sampled construction": _compare_sampled,
    "greedy construction": _compare_greedy,
    "construction of large instances": _compare_large,
    "rules beyond capacity": _compare_rules,
    "search": _compare_search,
    "encoder's layers and pointer network": _compare_layers_and_pointer,
}


def run_part(part: str, scope: Scope) -> PartOutcome:
    """Make the comparisons of a part.

    Parameters
    ----------
    part
        One of `PARTS`.
    scope
        Device and sizes.
    """
    torch.backends.cuda.matmul.allow_tf32 = False
    begun = time.perf_counter()
    comparisons: list[Comparison] = []
    try:
        comparisons.extend(PARTS[part](scope))
    except Exception as error:  # a kernel that does not compile is an answer, and the other parts have theirs
        return PartOutcome(part, comparisons, time.perf_counter() - begun, f"{type(error).__name__}: {error}")
    return PartOutcome(part, comparisons, time.perf_counter() - begun)


def choose_scope(device: str) -> Scope:
    """Choose sizes for a device; without a GPU Triton interprets the kernels, a thousand times slower."""
    return Scope(device, 20, 150, 16) if device.startswith("cuda") else Scope(device, 5, 130, 1)


def run_parts(scope: Scope) -> Iterator[PartOutcome]:
    """Run all parts beside each other, and give their outcomes as they come.

    Parameters
    ----------
    scope
        Device and sizes.
    """
    # one thread each, because they share the cores
    processes = min(count_cores(), len(PARTS))
    with ProcessPoolExecutor(processes, get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        for done in as_completed([pool.submit(run_part, part, scope) for part in PARTS]):
            yield done.result()


def report(outcomes: Iterable[PartOutcome]) -> bool:
    """Print each part with its time, and a verdict; returns whether all is right.

    Parameters
    ----------
    outcomes
        Of the parts.
    """
    begun = time.perf_counter()
    wrong = []
    for outcome in outcomes:
        print(f"{outcome.part}, {outcome.seconds:.0f} s")
        for comparison in outcome.comparisons:
            print(comparison.describe(), flush=True)
        if outcome.error:
            print(f"FAILED: {outcome.error}", flush=True)
        if not outcome.is_right:
            wrong.append(outcome.part)
    verdict = f"MISMATCH in {', '.join(wrong)}" if wrong else "every kind of kernel agrees with its twin"
    print(f"{verdict} ({time.perf_counter() - begun:.0f} s)", flush=True)
    return not wrong
