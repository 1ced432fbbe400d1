"""Gradient steps recorded as CUDA graphs: one launch instead of hundreds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from dynaroute.kernels import LONGEST_ROUTE
from dynaroute.model.changes import ModelWarning
from dynaroute.training.replay.layout import ReplaySize, RouteStarts, WholeSize, count_steps
from dynaroute.training.replay.replay import find_fixed_size
from dynaroute.training.step.reinforce import PolicyUpdate
from dynaroute.training.step.update_input import UpdateInput

_MOST_RECORDINGS = 8
_ROOM = 1.06  # size of a new recording, relative to what a step needs
_STEPS = 4  # the number of steps of a recording is a multiple of this


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
        The update to record.
    sizing
        How sizes are chosen; by what `find_fixed_size` says of its policy.
    """

    def __init__(self, update: PolicyUpdate, sizing: Sizing[Any]) -> None:
        self.update, self.sizing = update, sizing
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
            starts, counts = self.sizing.look(part)
            update.accumulate(part, starts, self.sizing.choose(self.sizing.read(counts), part.instances, []))
        norm = update.finish(len(given.batch))
        try:
            if len(parts) == 1:
                self._recordings = _Recordings(update.step, given, self.sizing)
            else:
                self._finish = _Finish(update, len(given.batch))  # it leaves the gradients where parts add theirs
                self._recordings = _Recordings(update.accumulate, parts[0], self.sizing)
        except RecordingError as error:
            self._give_up(error)
        return norm

    def _give_up(self, error: RecordingError) -> None:
        self._fails, self._recordings, self._finish = True, None, None
        warnings.warn(f"Steps run without a CUDA graph: {error}.", ModelWarning, stacklevel=4)


def record_if_possible(update: PolicyUpdate, nodes: int) -> GraphedUpdate | PolicyUpdate:
    """Return an update that records its steps, or the given one if they cannot be recorded.

    Parameters
    ----------
    update
        The update.
    nodes
        Nodes of the largest instance.
    """
    replay = update.replay
    # forced first steps are decoded by plain operations, which wait for the device; so do several processes
    if update.ranks.count > 1 or replay.forces_starts:
        return update
    size = find_fixed_size(replay.policy, nodes, has_one_size=replay.has_one_size)
    sizings: dict[Any, Sizing[Any]] = {ReplaySize: ByRoutes(), WholeSize: ByLength()}
    return update if size is None else GraphedUpdate(update, sizings[size])


Size = TypeVar("Size")


class Sizing(Protocol[Size]):
    """How the array sizes of recordings are chosen."""

    def look(self, given: UpdateInput) -> tuple[RouteStarts | None, Tensor]:
        """Find where routes begin, if the replay needs it, and what counts; without waiting for the device."""

    def read(self, counts: Tensor) -> Size:
        """Return the size that a step needs; waits for the device."""

    def fits(self, needed: Size) -> bool:
        """Whether such a step can be recorded."""

    def choose(self, needed: Size, instances: int, recorded: Sequence[Size]) -> Size:
        """Choose a recording for a step of this many instances, or the size of a new one."""


class ByRoutes:
    """Kernels replay distinct routes and states."""

    def look(self, given: UpdateInput) -> tuple[RouteStarts | None, Tensor]:
        """Find where routes begin."""
        starts = given.find_starts()
        return starts, starts.counts

    def read(self, counts: Tensor) -> ReplaySize:
        """Return the numbers of routes, states and their nodes."""
        return ReplaySize(*counts.tolist())

    def fits(self, needed: ReplaySize) -> bool:
        """Whether kernels can hold the longest route; plain operations cannot be recorded."""
        return needed.longest_route <= LONGEST_ROUTE

    def choose(self, needed: ReplaySize, instances: int, recorded: Sequence[ReplaySize]) -> ReplaySize:
        """Do the same as `choose_recording`."""
        return choose_recording(needed, instances, recorded)


class ByLength:
    """Whole solutions are replayed, all with as many steps as the longest."""

    def look(self, given: UpdateInput) -> tuple[RouteStarts | None, Tensor]:
        """Find the largest number of steps."""
        return None, count_steps(given.routes, given.batch.sizes).max()

    def read(self, counts: Tensor) -> WholeSize:
        """Return the largest number of steps."""
        return WholeSize(int(counts))

    def fits(self, needed: WholeSize) -> bool:
        """Every length can be recorded."""
        return True

    def choose(self, needed: WholeSize, instances: int, recorded: Sequence[WholeSize]) -> WholeSize:
        """Round up to a few different lengths."""
        return WholeSize(-(-needed.steps // _STEPS) * _STEPS)


Result = TypeVar("Result")


class _Recordings(Generic[Result]):
    """Work on an input, recorded for a few array sizes."""

    def __init__(
        self, work: Callable[[UpdateInput, RouteStarts | None, Any], Result], like: UpdateInput, sizing: Sizing[Any]
    ) -> None:
        self._work, self._sizing = work, sizing
        self._input = _RecordedInput(like, sizing)
        self._recordings: dict[Any, _Recording[Result]] = {}

    def __call__(self, given: UpdateInput) -> Result:
        """Do it."""
        needed = self._input.take(given)
        if not self._sizing.fits(needed):
            return self._work(self._input.given, self._input.starts, needed)
        size = self._sizing.choose(needed, given.instances, list(self._recordings))
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
    """The memory that recordings read their input from, with a recording of how route starts and counts are found."""

    def __init__(self, like: UpdateInput, sizing: Sizing[Any]) -> None:
        self.given, self._sizing = like.clone(), sizing
        self._graph, (self.starts, self._counts) = record(lambda: sizing.look(self.given))

    def take(self, given: UpdateInput) -> Any:
        """Copy an input in, and return the size it needs; waits for the device."""
        for mine, theirs in zip(self.given.tensors(), given.tensors(), strict=True):
            mine.copy_(theirs)
        self._graph.replay()
        return self._sizing.read(self._counts)


class _Recording(Generic[Result]):
    """The work recorded for one array size."""

    def __init__(
        self,
        work: Callable[[UpdateInput, RouteStarts | None, Any], Result],
        given: _RecordedInput,
        size: Any,
        pool: Any,
    ) -> None:
        self.graph, self.result = record(lambda: work(given.given, given.starts, size), pool)


def _with_room(size: ReplaySize) -> ReplaySize:
    """Add some room, so that the next steps fit too, and round routes up to the kernels' tile."""
    roomy = {name: _with_room_for_more(count) for name, count in asdict(size).items()}
    return ReplaySize(**roomy | {"longest_route": max(15, (1 << size.longest_route.bit_length()) - 1)})


def _with_room_for_more(count: int) -> int:
    return -(-int(_ROOM * count) // 64) * 64 + 64


class RecordingError(Exception):
    """Raised if work cannot be recorded; none of it was done."""


def record(work: Callable[[], Result], pool: Any = None) -> tuple[torch.cuda.CUDAGraph, Result]:
    """Record work as a CUDA graph.

    Parameters
    ----------
    work
        A function that does not wait for the device. It must have run once before, so that kernels are compiled.
    pool
        Memory shared with other recordings, which must never run at the same time.

    Returns
    -------
    torch.cuda.CUDAGraph
        The recording; its `replay` does the work.
    Result
        The tensors that each replay overwrites.

    Raises
    ------
    RecordingError
        If this work cannot be recorded.
    """
    try:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, pool=pool):
            return graph, work()
    except RuntimeError as error:
        raise RecordingError(str(error).partition("\n")[0]) from error
