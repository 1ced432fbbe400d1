"""Measure the service under load, over a real port, and check every response.

    python benchmarks/service.py              64 clients of n = 20 and n = 50, 60 s each, with batching and without
    python benchmarks/service.py --memory     memory after 1,000 and after 10,000 requests

Server and clients are separate processes. The clients' own CPU time is shown, to prove that it does not limit the
measurement.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from dynaroute.draw import draw_paper_set
from dynaroute.formats import instance_to_json, solution_from_json
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import check
from dynaroute.service.settings import ServiceSettings

BARS = {20: 150.0, 50: 60.0}  # answers a second
BATCHING_BAR = 1.5
MEMORY_BAR = 1.10
USUAL_BATCH = ServiceSettings().batch_size
INSTANCES = 256  # distinct ones; the clients take them in turn


@dataclass(frozen=True)
class Load:
    """What the clients shall do."""

    port: int
    bodies: list[bytes]
    clients: int
    seconds: float
    most: int | None = None  # requests in all


@dataclass(frozen=True)
class Outcome:
    """What became of it."""

    answers: list[tuple[int, int, bytes]]  # instance, status, body
    latencies: list[float]
    lost: int
    seconds: float
    generator_share: float  # of one core


@dataclass(frozen=True)
class Usage:
    """What an answer cost the service."""

    batch: float  # requests solved together
    seconds: float  # of CPU time


def main() -> None:
    arguments = _parse_arguments()
    if arguments.memory:
        _measure_memory(arguments)
        return
    columns = ("n", "batching", "answers/s", "p50 ms", "p99 ms", "a batch", "CPU ms an answer", "wrong", "clients' CPU")
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    verdicts = []
    for size in arguments.sizes:
        rates = []
        for batch_size in (USUAL_BATCH, 1):
            outcome, usage, wrong = _measure(size, batch_size, arguments)
            rate = (len(outcome.answers) - wrong) / outcome.seconds
            rates.append(rate)
            quantiles = statistics.quantiles(outcome.latencies, n=100)
            faults = wrong + outcome.lost
            print(
                f"| {size} | {'yes' if batch_size > 1 else 'no'} | {rate:.1f} | {1000 * quantiles[49]:.0f} "
                f"| {1000 * quantiles[98]:.0f} | {usage.batch:.1f} | {1000 * usage.seconds:.2f} | {faults} "
                f"| {outcome.generator_share:.0%} |",
                flush=True,
            )
            verdicts.append((f"n={size}: none wrong or lost", faults == 0))
        if size in BARS:
            verdicts.append((f"n={size}: at least {BARS[size]:g} answers a second", rates[0] >= BARS[size]))
        ratio = rates[0] / rates[1]
        verdicts.append((f"n={size}: batching {ratio:.2f} times, at least {BATCHING_BAR}", ratio >= BATCHING_BAR))
    for words, is_met in verdicts:
        print(f"{'yes' if is_met else 'NO '}  {words}")


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50], help="customers")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each row")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--model", default="auto")
    parser.add_argument("--memory", action="store_true", help="measure memory instead of speed")
    parser.add_argument("--quick", action="store_true", help="a check of a few seconds that it runs, not a measurement")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.sizes, arguments.seconds, arguments.clients = [20], 3.0, 8
    return arguments


def _measure(size: int, batch_size: int, arguments: argparse.Namespace) -> tuple[Outcome, Usage, int]:
    instances = _draw(size)
    bodies = _encode(instances, arguments.model)
    with _running_service(batch_size) as port:
        _drive(Load(port, bodies, arguments.clients, min(3.0, arguments.seconds)))  # warm up
        before = _read_counters(port)
        outcome = _drive(Load(port, bodies, arguments.clients, arguments.seconds))
        batches, requests, seconds = (now - then for now, then in zip(_read_counters(port), before, strict=True))
    usage = Usage(requests / max(batches, 1), seconds / max(requests, 1))
    return outcome, usage, _count_wrong(instances, outcome)


def _measure_memory(arguments: argparse.Namespace) -> None:
    instances = _draw(20)
    bodies = _encode(instances, arguments.model)
    with _running_service(USUAL_BATCH) as port:
        sizes = []
        for requests in (1_000, 9_000):
            outcome = _drive(Load(port, bodies, arguments.clients, 3_600.0, requests))
            wrong = _count_wrong(instances, outcome)
            sizes.append(_read_metric(port, "process_resident_memory_bytes") / 1e6)
            print(
                f"after {requests:,} more requests ({wrong + outcome.lost} wrong or lost): {sizes[-1]:.1f} MB",
                flush=True,
            )
    ratio = sizes[1] / sizes[0]
    print(f"{'yes' if ratio <= MEMORY_BAR else 'NO '}  grown {ratio:.3f} times, at most {MEMORY_BAR}")


def _draw(size: int) -> list[Instance]:
    return draw_paper_set(size, INSTANCES, np.random.default_rng(1)).instances()


def _encode(instances: Sequence[Instance], model: str) -> list[bytes]:
    documents = ({**instance_to_json(instance), "options": {"model": model}} for instance in instances)
    return [json.dumps(document).encode() for document in documents]


def _count_wrong(instances: Sequence[Instance], outcome: Outcome) -> int:
    return sum(not _is_right(instances[index], status, body) for index, status, body in outcome.answers)


def _is_right(instance: Instance, status: int, body: bytes) -> bool:
    if status != 200:
        return False
    answer = json.loads(body)
    solution = solution_from_json({"routes": answer["routes"], "cost": answer["cost"]})
    return not check(instance, solution)


@contextmanager
def _running_service(batch_size: int) -> Iterator[int]:
    """A service on a free port, ready for requests."""
    environment = {**os.environ, "DYNAROUTE_BATCH_SIZE": str(batch_size)}
    command = [sys.executable, "-m", "dynaroute", "serve", "--port", "0"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        while not _is_ready(port):
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        if process.wait(60) != 0:
            raise SystemExit(f"the service ended with {process.returncode}")


def _is_ready(port: int) -> bool:
    try:
        return bool(_get(port, "/readyz"))
    except urllib.error.HTTPError:
        return False


def _get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
        return str(answer.read().decode())


def _read_metric(port: int, name: str) -> float:
    found = re.search(rf"^{name} (.*)$", _get(port, "/metrics"), re.MULTILINE)
    assert found is not None
    return float(found[1])


def _read_counters(port: int) -> tuple[float, float, float]:
    """Batches so far, requests in them, and CPU seconds of the service."""
    return (
        _read_metric(port, "dynaroute_batch_size_count"),
        _read_metric(port, "dynaroute_batch_size_sum"),
        _read_metric(port, "process_cpu_seconds_total"),
    )


def _drive(load: Load) -> Outcome:
    """Put a load on the service, from a process of its own."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_generate, (load,))


def _generate(load: Load) -> Outcome:
    return asyncio.run(_run_clients(load))


async def _run_clients(load: Load) -> Outcome:
    outcome = Outcome([], [], 0, 0.0, 0.0)
    begin, cpu = time.perf_counter(), time.process_time()
    turns = iter(range(load.most or sys.maxsize))
    lost = await asyncio.gather(*(_run_client(load, turns, begin + load.seconds, outcome) for _ in range(load.clients)))
    seconds = time.perf_counter() - begin
    share = (time.process_time() - cpu) / seconds
    return Outcome(outcome.answers, outcome.latencies, sum(lost), seconds, share)


async def _run_client(load: Load, turns: Iterator[int], end: float, outcome: Outcome) -> int:
    """Send one request after the other on one connection; return how many stayed without an answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", load.port)
    lost = 0
    for turn in turns:
        begin = time.perf_counter()
        if begin >= end:
            break
        index = turn % len(load.bodies)
        try:
            status, body = await _exchange(reader, writer, load.bodies[index])
        except (OSError, EOFError):
            lost += 1
            reader, writer = await asyncio.open_connection("127.0.0.1", load.port)
            continue
        outcome.latencies.append(time.perf_counter() - begin)
        outcome.answers.append((index, status, body))
    writer.close()
    return lost


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> tuple[int, bytes]:
    head = b"POST /v1/solve HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    writer.write(head % len(body) + body)
    answer_head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", answer_head)
    assert length is not None
    return int(answer_head[9:12]), await reader.readexactly(int(length[1]))


if __name__ == "__main__":
    main()
