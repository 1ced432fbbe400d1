"""Gradient steps recorded as CUDA graphs, then replayed: one launch instead of hundreds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from dynaroute.kernels import LONGEST_ROUTE
from dynaroute.training.reinforce import PolicyUpdate, UpdateInput
from dynaroute.training.replay_layout import ReplaySize, RouteStarts

__all__ = ["GraphedUpdate", "choose_recording"]

_MOST_RECORDINGS = 8
_ROOM = 1.06  # of what a step needs, in a new recording


class GraphedUpdate:
    """`PolicyUpdate` recorded for arrays of a few sizes.

    A step uses the smallest recording that holds its solutions and is not much larger than they need. What a step
    needs varies, the more so the fewer its instances are: a new recording holds, besides, what those before it held,
    so that soon one of them holds nearly every step. A step that does not fit in memory is taken in parts, as many as
    the first step needs. Adam must be made with capturable=True and a tensor as learning rate. All steps have as many
    instances, nodes and samples as the first.

    Parameters
    ----------
    update
        What to record; of a policy that `can_record`.
    """

    def __init__(self, update: PolicyUpdate) -> None:
        self.update = update
        self._parts = 0  # not known before the first step
        self._recordings: _Recordings[Any] | None = None
        self._finish: _Finish | None = None

    def __call__(self, given: UpdateInput) -> Tensor:
        """Take one step; returns the gradient's norm before clipping."""
        if self._recordings is None:
            return self._wake(given)
        if self._finish is None:
            norm: Tensor = self._recordings(given)
            return norm
        for part in given.split(self._parts):
            self._recordings(part)
        return self._finish()

    def _wake(self, given: UpdateInput) -> Tensor:
        """The first step wakes what must not wake during a recording: libraries, kernels, Adam's moments."""
        update = self.update
        self._parts = update.count_parts(given, ReplaySize.of(given.find_starts()))
        parts = given.split(self._parts)
        update.optimiser.zero_grad()
        for part in parts:
            starts = part.find_starts()
            update.accumulate(part, starts, choose_recording(ReplaySize.of(starts), part.instances, []))
        norm = update.finish(len(given.batch))
        if len(parts) == 1:
            self._recordings = _Recordings(update.step, given)
        else:
            self._finish = _Finish(update, len(given.batch))  # which leaves gradients where parts add theirs
            self._recordings = _Recordings(update.accumulate, parts[0])
        return norm


Result = TypeVar("Result")


class _Recordings(Generic[Result]):
    """Work on an input, recorded for arrays of a few sizes."""

    def __init__(self, work: Callable[[UpdateInput, RouteStarts, ReplaySize], Result], like: UpdateInput) -> None:
        self._work = work
        self._input = _RecordedInput(like)
        self._recordings: dict[ReplaySize, _Recording[Result]] = {}

    def __call__(self, given: UpdateInput) -> Result:
        """Do it."""
        needed = self._input.take(given)
        if needed.longest_route > LONGEST_ROUTE:
            return self._work(self._input.given, self._input.starts, needed)  # plain operations cannot be recorded
        size = choose_recording(needed, given.instances, list(self._recordings))
        recording = self._recordings.pop(size, None)
        if recording is None:
            # never two at a time: memory is shared
            pool = next((other.graph.pool() for other in self._recordings.values()), None)
            recording = _Recording(self._work, self._input, size, pool)
        self._recordings[size] = recording  # the one used last is the last to go
        if len(self._recordings) > _MOST_RECORDINGS:
            del self._recordings[next(iter(self._recordings))]
        recording.graph.replay()
        return recording.result


class _Finish:
    """`PolicyUpdate.finish`, recorded; gradients are zero afterwards, and stay where they are."""

    def __init__(self, update: PolicyUpdate, solutions: int) -> None:
        gradients = [parameter.grad for parameter in update.replay.parameters() if parameter.grad is not None]
        torch._foreach_zero_(gradients)
        self._graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(self._graph):
            self._norm = update.finish(solutions)
            torch._foreach_zero_(gradients)

    def __call__(self) -> Tensor:
        self._graph.replay()
        return self._norm


def choose_recording(needed: ReplaySize, instances: int, recorded: Sequence[ReplaySize]) -> ReplaySize:
    """The smallest recording that holds a step and is not much larger than it needs, or the size of a new one.

    Parameters
    ----------
    needed
        By the step.
    instances
        Of the step: the more they are, the less do steps of one policy differ, and the more is room for them wasted.
    recorded
        What there is.
    """
    roomy = _with_room(needed)
    most_tokens = max(roomy.state_tokens, needed.state_tokens * (1.1 + 4 * instances**-0.5))
    similar = [size for size in recorded if size.state_tokens <= most_tokens]
    fitting = [size for size in similar if size.holds(needed)]
    return min(fitting, key=lambda size: size.state_tokens) if fitting else roomy.join(*similar)


class _RecordedInput:
    """Where recordings read what they are given, and where its routes begin, which is recorded as well."""

    def __init__(self, like: UpdateInput) -> None:
        self.given = like.clone()
        self._graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(self._graph):
            self.starts = self.given.find_starts()

    def take(self, given: UpdateInput) -> ReplaySize:
        """Copy it in, find its starts anew, and tell how much room it needs; the host waits for the device."""
        for mine, theirs in zip(self.given.tensors(), given.tensors(), strict=True):
            mine.copy_(theirs)
        self._graph.replay()
        return ReplaySize.of(self.starts)


class _Recording(Generic[Result]):
    """The work on one input, in arrays of one size."""

    def __init__(
        self,
        work: Callable[[UpdateInput, RouteStarts, ReplaySize], Result],
        given: _RecordedInput,
        size: ReplaySize,
        pool: Any,
    ) -> None:
        self.graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph, pool=pool):
            self.result = work(given.given, given.starts, size)


def _with_room(size: ReplaySize) -> ReplaySize:
    """Some room, so that the next steps fit as well, and routes up to the next tile of the kernels."""
    roomy = {name: _with_room_for_more(count) for name, count in asdict(size).items()}
    return ReplaySize(**roomy | {"longest_route": max(15, (1 << size.longest_route.bit_length()) - 1)})


def _with_room_for_more(count: int) -> int:
    return -(-int(_ROOM * count) // 64) * 64 + 64
