"""One instance on a GPU and on the cores at the same time; at exchange points both go on from the best plan of all."""

from __future__ import annotations

import gc
import math
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import NamedTuple

import torch

from dynaroute.base.errors import DynarouteError
from dynaroute.base.stopping import Stopping
from dynaroute.search.exchange import Exchange
from dynaroute.search.gpu.devices import KernelDevice
from dynaroute.search.gpu.rounds import RoundSearch, RoundSettings
from dynaroute.search.many import BatchSearchRequest, search_side_by_side
from dynaroute.search.search import SearchOutcome

_MEETINGS = 50  # of the cores with the GPU
_LEAST_PAUSE = 0.05
_CLOSING_SHARE = 0.01  # of the time, in which the cores take the last plan of the GPU


class SearchedBeside(NamedTuple):
    """The result of a search on a GPU and on cores.

    Attributes
    ----------
    outcome
        The best of both.
    message
        Who searched.
    """

    outcome: SearchOutcome
    message: str


def search_beside_cores(
    request: BatchSearchRequest, threads: int, device: KernelDevice, settings: RoundSettings | None = None
) -> SearchedBeside:
    """Search one instance until the deadline on both; an error of the GPU leaves the cores alone.

    Ctrl-C ends both, with the best plan so far.

    Parameters
    ----------
    request
        One instance, with a deadline.
    threads
        Cores that search it.
    device
        The GPU.
    settings
        Settings of the search on the GPU; None for the defaults.
    """
    (instance,) = request.instances
    search = RoundSearch(device, instance, request.seed, settings)
    before = time.perf_counter()
    search.load_kernels()
    loading = time.perf_counter() - before  # does not count
    given, ended = request.begin(), Event()
    assert given.deadline is not None
    stopping = replace(given, deadline=given.deadline + loading, began=given.began + loading)

    def is_cancelled() -> bool:
        return ended.is_set() or (given.is_cancelled is not None and given.is_cancelled())

    watched = replace(stopping, is_cancelled=is_cancelled)
    exchange = Exchange(max(_LEAST_PAUSE, stopping.seconds_left / _MEETINGS))
    on_cores = replace(request, begin=lambda: watched, exchange=exchange)
    with ThreadPoolExecutor(1, thread_name_prefix="dynaroute-cores") as pool:
        running = pool.submit(search_side_by_side, on_cores, threads)
        fault = ""
        try:
            fault = _run_on_gpu(search, exchange, watched, running)
            (outcome,) = running.result()
        except KeyboardInterrupt:
            ended.set()
            (outcome,) = running.result()
        finally:
            ended.set()
            _release(device)
    cores = f"{threads} {'core' if threads == 1 else 'cores'}"
    message = (
        f"The GPU stopped ({fault}), so {cores} went on alone." if fault else f"A GPU and {cores} searched together."
    )
    return SearchedBeside(replace(outcome, iterations=outcome.iterations + search.iterations), message)


def _run_on_gpu(search: RoundSearch, exchange: Exchange, stopping: Stopping, cores: Future[list[SearchOutcome]]) -> str:
    """Search until the cores are about to end; returns what went wrong, if anything did."""
    left = stopping.seconds_left

    def is_over() -> bool:
        return cores.done() or (stopping.is_cancelled is not None and stopping.is_cancelled())

    assert stopping.deadline is not None and math.isfinite(left)
    own = replace(stopping, deadline=stopping.deadline - _CLOSING_SHARE * left, is_cancelled=is_over)
    try:
        search.run(exchange, own)
    except DynarouteError as error:
        return error.message.rstrip(".")
    except RuntimeError as error:  # the driver's and PyTorch's, such as a lack of memory
        return str(error).partition("\n")[0].rstrip(".")
    return ""


def _release(device: KernelDevice) -> None:
    """Give back the memory of the GPU, which other processes may need."""
    if device.place.type == "cuda":
        gc.collect()
        torch.cuda.empty_cache()
