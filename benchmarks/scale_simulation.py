"""Simulate how long a billion instances would take and what the bottleneck is, from measured parts.

    python benchmarks/scale_simulation.py [--rows 1e9] [--gpu-hour 3] [--core-hour 0.04] [--bandwidth 1.25e9] [--quick]

Measured on one core, for instances of 100 customers: reading rows from Parquet, checking and writing them, solving them
in three qualities; and for each engine, how long its driver takes to hand out a block. All times are CPU times, which
other work on the machine changes little. The times of a GPU are those of docs/results.md. Prices and the bandwidth of
the storage are assumptions. A worker reads, solves, checks and writes one block after the other; all workers share the
driver and the storage, which serve one at a time.
"""

from __future__ import annotations

import argparse
import heapq
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dynaroute.draw import draw_published_set
from dynaroute.formats import write
from dynaroute.scale.engines.engine import BatchEngine
from dynaroute.scale.engines.local import LocalEngine
from dynaroute.scale.engines.ray_engine import RayEngine
from dynaroute.scale.input.file_sources import SetSource
from dynaroute.scale.input.opening import open_source
from dynaroute.scale.output.outcomes import RowOutcome
from dynaroute.scale.output.parts import Parts
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block, InputRow
from dynaroute.scale.run import cut_blocks
from dynaroute.scale.work import Work
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.solve import solve_all

SIZE = 100
WORKERS = (1, 16, 256, 4096, 65536)
MOST_SIMULATED = 200_000  # blocks; of longer runs a part is simulated that is as long for each worker
GPU_SHARERS = 16  # workers on one GPU, for what a processor does between its batches


@dataclass(frozen=True)
class Quality:
    """How well to solve, what it takes, and what comes out.

    Attributes
    ----------
    name, cost
        What to call it; the mean cost.
    seconds
        Of solving a row, on the device alone.
    block
        Rows of a block.
    hour
        Price of an hour of the device.
    sharers
        Workers that share a device.
    packing
        Seconds of a core to bring a row to the device and its routes back, where that is not part of solving.
    """

    name: str
    cost: float
    seconds: float
    block: int
    hour: float
    sharers: int = 1
    packing: float = 0.0


@dataclass(frozen=True)
class Handling:
    """What a row takes beside solving, on one core, and how large it is.

    Attributes
    ----------
    read, write
        Seconds to read a row; to judge and to write it.
    read_bytes, write_bytes
        Of a row in the input and in the output.
    """

    read: float
    write: float
    read_bytes: float
    write_bytes: float


@dataclass(frozen=True)
class Simulated:
    """What came out of a simulation.

    Attributes
    ----------
    seconds
        Of the whole run.
    shares
        How much of it each resource was busy, by name.
    """

    seconds: float
    shares: dict[str, float]

    @property
    def bottleneck(self) -> str:
        """What is busy most of the time."""
        return max(self.shares, key=lambda name: self.shares[name])


def simulate(
    rows: float, workers: int, quality: Quality, handling: Handling, dispatch: float, speed: float
) -> Simulated:
    """Have workers solve all rows.

    Parameters
    ----------
    rows, workers
        How many.
    quality, handling
        What each row takes.
    dispatch
        Seconds of the driver for each block.
    speed
        Bytes a second of the storage.
    """
    blocks = max(1, round(rows / quality.block))
    simulated = min(blocks, max(MOST_SIMULATED, 4 * workers))
    fetch, store = (quality.block * size / speed for size in (handling.read_bytes, handling.write_bytes))
    unpack, judge = quality.block * (handling.read + quality.packing), quality.block * handling.write
    solve = quality.block * quality.seconds
    driver = storage = 0.0  # when they are free again
    devices = [0.0] * max(1, workers // quality.sharers)
    # what a worker does next, and when: blocks go through these in turn
    ready = [(0.0, worker, 0) for worker in range(workers)]
    heapq.heapify(ready)
    busy = {"driver": 0.0, "storage": 0.0, "device": 0.0, "workers": 0.0}
    handed_out = finished = 0
    end = 0.0
    while finished < simulated:
        now, worker, step = heapq.heappop(ready)
        if step == 0:
            if handed_out == simulated:
                continue
            handed_out += 1
            driver = max(now, driver) + dispatch
            busy["driver"] += dispatch
            after = driver
        elif step in (1, 4):
            takes = fetch if step == 1 else store
            storage = max(now, storage) + takes
            busy["storage"] += takes
            after = storage
        elif step == 3:
            device = worker % len(devices)
            devices[device] = max(now, devices[device]) + solve
            busy["device"] += solve / len(devices)
            after = devices[device] + judge
            busy["workers"] += judge / workers
        else:
            after = now + unpack
            busy["workers"] += unpack / workers
        if step == 4:
            finished += 1
            end = max(end, after)
        heapq.heappush(ready, (after, worker, (step + 1) % 5))
    return Simulated(end * blocks / simulated, {name: time / end for name, time in busy.items()})


def measure_handling(folder: Path, count: int) -> Handling:
    """Read, judge and write rows as a worker does."""
    instances = draw_published_set(SIZE, count, seed=99).instances()
    file = folder / "set.parquet"
    write(instances, file)
    source, block = open_source(str(file)), Block(0, count)
    read = _time(lambda: source.read(block))
    rows, parts = source.read(block), Parts(StoragePlace(str(folder / "parts")))
    parts.place.make()
    results = solve_all(instances, SolveOptions(model="savings"))

    def finish() -> None:
        parts.write(block, [RowOutcome.of_result(row, result, 0) for row, result in zip(rows, results, strict=True)])

    written = _time(finish)
    (part,) = parts.place.list_files().values()
    return Handling(read / count, written / count, file.stat().st_size / count, part / count)


def measure_core(options: SolveOptions, count: int, hour: float, name: str) -> Quality:
    """Solve instances on one core; only solving is timed."""
    instances = draw_published_set(SIZE, count, seed=99).instances()
    options = replace(options, threads=1, device="cpu")
    solve_all(instances[:2], options)  # loads weights and machine code
    began = time.process_time()
    results = solve_all(instances, options)
    seconds = (time.process_time() - began) / count
    block = 2048 if not options.searches else max(1, min(256, int(60.0 / seconds)))
    return Quality(name, sum(result.cost for result in results) / count, seconds, block, hour)


@dataclass(frozen=True)
class Nothing(SetSource):
    """Rows that take no time: what is left is the engine's."""

    def prepare(self, block: Block) -> Block:
        """As it is."""
        return block

    def read(self, block: Block) -> list[InputRow]:
        """Rows with an error, which nobody tries to solve."""
        return [InputRow(number, str(number), error="not solved") for number in range(block.first, block.end)]


@dataclass(frozen=True)
class Nowhere(Parts):
    """Parts that nobody writes."""

    def write(self, block: Block, outcomes: Sequence[RowOutcome]) -> None:
        """Forget them."""


def measure_dispatch(engine: BatchEngine, blocks: int) -> float:
    """Seconds of the driver for a block that is neither read, solved nor written; the start does not count."""
    work = Work(Nothing("nothing", "", blocks), Nowhere(StoragePlace("")), SolveOptions(model="savings"), 1, blocks)
    reports = engine.solve(work, cut_blocks([Block(0, blocks)], 1), lambda now: None)
    for _ in range(blocks // 2):  # until all workers are there
        next(reports)
    began = time.process_time()
    others = sum(1 for _ in reports)
    return (time.process_time() - began) / others


def _time(action: Callable[[], object]) -> float:
    """The best of three, in seconds of cores."""
    seconds = []
    for _ in range(3):
        began = time.process_time()
        action()
        seconds.append(time.process_time() - began)
    return min(seconds)


def measure_packing(count: int) -> float:
    """Seconds of a core to make tensors of an instance, and a priced solution of its routes in tensors."""
    from dynaroute.batch import InstanceBatch, RouteBatch

    instances = draw_published_set(SIZE, count, seed=99).instances()
    batch = InstanceBatch.from_instances(instances)
    solutions = [result.solution for result in solve_all(instances, SolveOptions(model="savings"))]
    routes = RouteBatch.from_solutions(solutions, batch)

    def pack() -> None:
        InstanceBatch.from_instances(instances)
        for solution, instance in zip(routes.to_solutions(batch), instances, strict=True):
            solution.cost(instance)

    return _time(pack) / count


def list_gpu_qualities(hour: float, packing: float) -> Iterator[Quality]:
    """One H200, by docs/results.md: 10,000 published instances, from host memory to host memory."""
    for name, cost, seconds in (("0.1 s", 15.979, 0.091), ("1.3 s", 15.617, 1.308), ("5 s", 15.574, 5.0)):
        for sharers in (1, GPU_SHARERS):
            called = f"H200, {name} for 10,000" + (f", {sharers} workers on it" if sharers > 1 else "")
            yield Quality(called, cost, seconds / 10_000, 16_384, hour, sharers, packing)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=float, default=1e9)
    parser.add_argument("--gpu-hour", type=float, default=3.0, help="price of an hour of an H200 with 16 cores")
    parser.add_argument("--core-hour", type=float, default=0.04, help="price of an hour of a core")
    parser.add_argument("--bandwidth", type=float, default=1.25e9, help="bytes a second of the storage, 10 Gbit/s")
    parser.add_argument("--quick", action="store_true", help="a check of a few seconds that it runs, not a measurement")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    count, blocks = (32, 20) if arguments.quick else (2048, 4000)
    engines: dict[str, BatchEngine] = {"local": LocalEngine(2)}
    if not arguments.quick:
        engines["ray"] = RayEngine(workers=2)
    with tempfile.TemporaryDirectory() as name:
        handling = measure_handling(Path(name), count)
        dispatch = {each: measure_dispatch(engines[each], blocks) for each in engines}
    packing = measure_packing(count)
    print(f"a row of n={SIZE}: read {1e3 * handling.read:.3f} ms and {handling.read_bytes:.0f} bytes, ", end="")
    print(f"to a GPU and back {1e3 * packing:.3f} ms, ", end="")
    print(f"judge and write {1e3 * handling.write:.3f} ms and {handling.write_bytes:.0f} bytes")
    print("a block: " + ", ".join(f"{each} {1e3 * seconds:.2f} ms" for each, seconds in dispatch.items()))
    searched = 4 if arguments.quick else 100
    qualities = [
        measure_core(SolveOptions(model="amd-100"), min(count, 512), arguments.core_hour, "core, greedy"),
        measure_core(SolveOptions(iterations=30_000), searched, arguments.core_hour, "core, 30,000 iterations"),
        measure_core(SolveOptions(iterations=150_000), searched, arguments.core_hour, "core, 150,000 iterations"),
        *list_gpu_qualities(arguments.gpu_hour, packing),
    ]
    slowest = max(dispatch.values())
    print(f"\n{arguments.rows:.0e} rows, one device")
    print(f"{'':<40}{'cost':>8}{'ms a row':>10}{'hours':>12}{'price':>10}  busiest")
    for quality in qualities:
        found = simulate(arguments.rows, quality.sharers, quality, handling, slowest, arguments.bandwidth)
        hours = found.seconds / 3600
        print(
            f"{quality.name:<40}{quality.cost:>8.3f}{1e3 * quality.seconds:>10.4f}{hours:>12,.1f}"
            f"{hours * quality.hour:>10,.0f}  {found.bottleneck} {100 * found.shares[found.bottleneck]:.0f} %"
        )
    print(f"\nhours with so many workers, and what is busiest\n{'':<40}" + "".join(f"{each:>22,}" for each in WORKERS))
    for quality in qualities:
        cells = []
        for workers in WORKERS:
            if workers < quality.sharers:
                cells.append("")
                continue
            found = simulate(arguments.rows, workers, quality, handling, slowest, arguments.bandwidth)
            share = 100 * found.shares[found.bottleneck]
            cells.append(f"{found.seconds / 3600:,.2f} {found.bottleneck} {share:.0f} %")
        print(f"{quality.name:<40}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
