"""Building routes step by step with plain operations, several steps per launch.

A pointer network has no kernel for whole solutions. Its steps are dozens of small operations, which a GPU finishes
faster than they are launched. In training, all batches have the same shape. So a few steps (a lap) are recorded as a
CUDA graph and repeated until all vehicles are back: the host waits once per lap instead of launching every operation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.build import construct_once
from dynaroute.construct.choose import Chooser, Sample, StepInfo
from dynaroute.construct.eager import Drive, Progress, take_step
from dynaroute.construct.fused import FUSED_KINDS
from dynaroute.construct.graphs import RecordingError, record
from dynaroute.model.changes import ModelWarning, find_change
from dynaroute.model.policy import Policy

__all__ = ["RecordedConstruction", "can_record_construction", "construct_in_laps", "record_graph"]

_STEPS = 8  # per lap; the last lap wastes half of them on average


def can_record_construction(policy: Policy) -> bool:
    """Whether steps can be recorded: the policy is ours, encodes once, and runs on a GPU without kernels for routes."""
    is_plain = policy.kind not in FUSED_KINDS and not policy.encodes_anew
    return is_plain and policy.device.type == "cuda" and not find_change(policy)


class Lap(NamedTuple):
    """The state of P vehicles: everything that a lap reads and writes.

    Attributes
    ----------
    trajectory, nodes
        As in `StepInfo`.
    stream_keys
        (P, 2), as in `Sample`.
    progress
        Their progress.
    route, position
        (P, M) int32 solutions so far, as in `RouteBatch`; the depot's entries are meaningless.
    """

    trajectory: Tensor
    nodes: Tensor
    stream_keys: Tensor
    progress: Progress
    route: Tensor
    position: Tensor


def construct_in_laps(policy: Policy, batch: InstanceBatch, chooser: Sample) -> RouteBatch:
    """Do the same as `RecordedConstruction` without recording. `construct_eagerly` builds the same routes."""
    with torch.no_grad():
        lap = _begin(policy, batch, chooser)
        while not _is_over(lap):
            lap = _drive(policy, lap, chooser.temperature)
        return _read(lap)


Record: TypeAlias = Callable[[Callable[[], None]], Callable[[], None]]


def record_graph(work: Callable[[], None]) -> Callable[[], None]:
    """Record work as a CUDA graph, and return the function that launches it."""
    return record(work)[0].replay


class RecordedConstruction:
    """`construct_once` with recorded steps, for samples in batches of one shape; others are built without recording.

    So is the first batch, which compiles kernels and initialises libraries.

    Parameters
    ----------
    policy
        A policy that `can_record_construction` accepts.
    record
        Records work that never waits for the device, and returns a function that repeats it.
    """

    def __init__(self, policy: Policy, record: Record | None = None) -> None:
        self.policy, self.record = policy, record or record_graph
        self._is_awake, self._fails = False, False
        self._recording: _Recording | None = None

    def __call__(self, policy: Policy, batch: InstanceBatch, chooser: Chooser) -> RouteBatch:
        """Build one solution per instance, as `construct_once` does."""
        if policy is not self.policy or not isinstance(chooser, Sample) or self._fails:
            return construct_once(policy, batch, chooser)
        if not self._is_awake:
            self._is_awake = True
            return construct_in_laps(policy, batch, chooser)
        with torch.no_grad():
            lap = _begin(policy, batch, chooser)
            if self._recording is None:
                self._record(lap, chooser.temperature)
            if self._recording is None or not self._recording.holds(lap, chooser.temperature):
                return construct_once(policy, batch, chooser)
            return self._recording(lap)

    def _record(self, lap: Lap, temperature: float) -> None:
        try:
            self._recording = _Recording(self.policy, lap, temperature, self.record)
        except RecordingError as error:
            self._fails = True
            warnings.warn(f"Steps run without a CUDA graph: {error}.", ModelWarning, stacklevel=3)


class _Recording:
    """A recorded lap, which reads and writes memory of its own."""

    def __init__(self, policy: Policy, like: Lap, temperature: float, record: Record) -> None:
        self._lap: Lap = _map(torch.clone, like)
        self._temperature = temperature
        self._repeat = record(lambda: _copy(_drive(policy, self._lap, temperature), self._lap))

    def holds(self, lap: Lap, temperature: float) -> bool:
        """Whether it was recorded for these shapes and this temperature."""
        same = all(mine.shape == theirs.shape for mine, theirs in zip(_list(self._lap), _list(lap), strict=True))
        return same and temperature == self._temperature

    def __call__(self, lap: Lap) -> RouteBatch:
        _copy(lap, self._lap)
        while not _is_over(self._lap):
            self._repeat()
        return _read(self._lap)


def _begin(policy: Policy, batch: InstanceBatch, chooser: Sample) -> Lap:
    """Encode all instances, with every vehicle at the depot."""
    everyone = torch.arange(len(batch), device=batch.device)
    nowhere = torch.zeros_like(everyone)
    drive = Drive(policy, policy.begin, batch, policy.fold(), everyone, batch.is_customer, nowhere, nowhere)
    routes = RouteBatch.unvisited(batch)
    return Lap(everyone, drive.nodes, chooser.stream_keys, drive.progress, routes.route, routes.position)


def _drive(policy: Policy, lap: Lap, temperature: float) -> Lap:
    """Take a few steps, without waiting for the device."""
    trajectory, nodes, stream_keys, progress, route, position = lap
    now = StepInfo(trajectory, progress.step, progress.route, progress.position, nodes)
    # all vehicles that still drive are at the same step, so the noise of a lap can be drawn at once
    for chooser in Sample(stream_keys, temperature).draw_ahead(now, _STEPS):
        decision, progress = take_step(policy, chooser, trajectory, nodes, progress)
        info = decision.info
        node = nodes.gather(1, decision.chosen[:, None])  # (P, 1); the depot's entry is never read
        route = route.scatter(1, node, info.route[:, None].int())
        position = position.scatter(1, node, info.position[:, None].int())
    return Lap(trajectory, nodes, stream_keys, progress, route, position)


def _is_over(lap: Lap) -> bool:
    """Whether all vehicles are back for good; waits for the device."""
    return not bool(lap.progress.is_driving.any())


def _read(lap: Lap) -> RouteBatch:
    """Copy the finished solutions."""
    route, position = lap.route.clone(), lap.position.clone()
    route[:, 0] = position[:, 0] = -1
    return RouteBatch(route, position)


def _list(parts: Any) -> Iterator[Tensor]:
    """List the tensors of nested tuples."""
    if isinstance(parts, Tensor):
        yield parts
        return
    for part in parts:
        yield from _list(part)


def _map(change: Any, parts: Any) -> Any:
    """Change all tensors of nested named tuples."""
    return change(parts) if isinstance(parts, Tensor) else type(parts)(*(_map(change, part) for part in parts))


def _copy(source: Lap, target: Lap) -> None:
    """Copy all tensors, unless source and target are the same object."""
    for theirs, mine in zip(_list(source), _list(target), strict=True):
        if theirs is not mine:
            mine.copy_(theirs)
