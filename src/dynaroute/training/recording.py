"""Gradient steps recorded as CUDA graphs: one launch instead of hundreds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from dynaroute.construct.graphs import RecordingError, record
from dynaroute.kernels import LONGEST_ROUTE
from dynaroute.model.changes import ModelWarning
from dynaroute.training.reinforce import PolicyUpdate, UpdateInput
from dynaroute.training.replay_layout import ReplaySize, RouteStarts

__all__ = ["GraphedUpdate", "choose_recording"]

_MOST_RECORDINGS = 8
_ROOM = 1.06  # size of a new recording, relative to what a step needs


class GraphedUpdate:
    """A `PolicyUpdate`, recorded for a few array sizes.

    A step uses the smallest recording that holds its solutions without much waste. Needs vary from step to step, more
    so with few instances. A new recording also covers all earlier ones, so that soon one of them fits nearly every
    step. A step that does not fit in memory is taken in parts, as many as the first step needs. Adam must have
    capturable=True and a tensor as learning rate. All steps must have the same numbers of instances, nodes and samples.
    If a step cannot be recorded, a warning says so, and no later step is recorded either.

    Parameters
    ----------
    update
        The update to record; its policy must satisfy `can_record`.
    """

    def __init__(self, update: PolicyUpdate) -> None:
        self.update = update
        self._parts = 0  # unknown before the first step
        self._fails = False
        self._recordings: _Recordings[Any] | None = None
        self._finish: _Finish | None = None

    def __call__(self, given: UpdateInput) -> Tensor:
        """Take one step; returns the gradient norm before clipping."""
        if self._fails:
            return self.update(given)
        if self._recordings is None:
            return self._wake(given)
        try:
            return self._repeat(given)
        except RecordingError as error:
            self._give_up(error)
            return self.update(given)

    def _repeat(self, given: UpdateInput) -> Tensor:
        assert self._recordings is not None
        if self._finish is None:
            norm: Tensor = self._recordings(given)
            return norm
        for part in given.split(self._parts):
            self._recordings(part)
        return self._finish()

    def _wake(self, given: UpdateInput) -> Tensor:
        """Take the first step unrecorded, to initialise libraries, kernels and Adam's moments."""
        update = self.update
        self._parts = update.count_parts(given, ReplaySize.of(given.find_starts()))
        parts = given.split(self._parts)
        update.optimiser.zero_grad()
        for part in parts:
            starts = part.find_starts()
            update.accumulate(part, starts, choose_recording(ReplaySize.of(starts), part.instances, []))
        norm = update.finish(len(given.batch))
        try:
            if len(parts) == 1:
                self._recordings = _Recordings(update.step, given)
            else:
                self._finish = _Finish(update, len(given.batch))  # it leaves the gradients where parts add theirs
                self._recordings = _Recordings(update.accumulate, parts[0])
        except RecordingError as error:
            self._give_up(error)
        return norm

    def _give_up(self, error: RecordingError) -> None:
        self._fails, self._recordings, self._finish = True, None, None
        warnings.warn(f"Steps run without a CUDA graph: {error}.", ModelWarning, stacklevel=4)


Result = TypeVar("Result")


class _Recordings(Generic[Result]):
    """Work on an input, recorded for a few array sizes."""

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
            # never two at a time, because they share memory
            pool = next((other.graph.pool() for other in self._recordings.values()), None)
            recording = _Recording(self._work, self._input, size, pool)
        self._recordings[size] = recording  # the most recently used is dropped last
        if len(self._recordings) > _MOST_RECORDINGS:
            del self._recordings[next(iter(self._recordings))]
        recording.graph.replay()
        return recording.result


class _Finish:
    """`PolicyUpdate.finish`, recorded; afterwards gradients are zero and keep their memory."""

    def __init__(self, update: PolicyUpdate, solutions: int) -> None:
        gradients = [parameter.grad for parameter in update.replay.parameters() if parameter.grad is not None]
        torch._foreach_zero_(gradients)

        def finish() -> Tensor:
            norm = update.finish(solutions)
            torch._foreach_zero_(gradients)
            return norm

        self._graph, self._norm = record(finish)

    def __call__(self) -> Tensor:
        self._graph.replay()
        return self._norm


def choose_recording(needed: ReplaySize, instances: int, recorded: Sequence[ReplaySize]) -> ReplaySize:
    """Choose the smallest recording that holds a step without much waste, or the size of a new one.

    Parameters
    ----------
    needed
        Size that the step needs.
    instances
        Instances of the step; with more of them, steps vary less and extra room is wasted.
    recorded
        Existing recordings.
    """
    roomy = _with_room(needed)
    most_tokens = max(roomy.state_tokens, needed.state_tokens * (1.1 + 4 * instances**-0.5))
    similar = [size for size in recorded if size.state_tokens <= most_tokens]
    fitting = [size for size in similar if size.holds(needed)]
    return min(fitting, key=lambda size: size.state_tokens) if fitting else roomy.join(*similar)


class _RecordedInput:
    """The memory that recordings read their input from, with a recording of how route starts are found."""

    def __init__(self, like: UpdateInput) -> None:
        self.given = like.clone()
        self._graph, self.starts = record(self.given.find_starts)

    def take(self, given: UpdateInput) -> ReplaySize:
        """Copy an input in, find its route starts, and return the size it needs; waits for the device."""
        for mine, theirs in zip(self.given.tensors(), given.tensors(), strict=True):
            mine.copy_(theirs)
        self._graph.replay()
        return ReplaySize.of(self.starts)


class _Recording(Generic[Result]):
    """The work recorded for one array size."""

    def __init__(
        self,
        work: Callable[[UpdateInput, RouteStarts, ReplaySize], Result],
        given: _RecordedInput,
        size: ReplaySize,
        pool: Any,
    ) -> None:
        self.graph, self.result = record(lambda: work(given.given, given.starts, size), pool)


def _with_room(size: ReplaySize) -> ReplaySize:
    """Add some room, so that the next steps fit too, and round routes up to the kernels' tile."""
    roomy = {name: _with_room_for_more(count) for name, count in asdict(size).items()}
    return ReplaySize(**roomy | {"longest_route": max(15, (1 << size.longest_route.bit_length()) - 1)})


def _with_room_for_more(count: int) -> int:
    return -(-int(_ROOM * count) // 64) * 64 + 64
