"""Time many small instances, from a Parquet file to routes: one call of solve, and the engines of `dynaroute batch`.

    python benchmarks/batch.py                                100,000 instances of 20 customers, each way once
    python benchmarks/batch.py --count 10000 --ways local     memory with a tenth of them
    python benchmarks/batch.py --model savings                everything but solving, which takes next to nothing

Each way runs in its own process and is timed from start to end: loading libraries, reading, solving (greedily with
amd-20, or with `--model`) and, for batch, checking and writing. Core seconds are the CPU time of all its processes,
which other work on the machine hardly affects. Memory is the largest total of all its processes, sampled every 1.5
seconds; memory that processes share is divided among them (the proportional set size, on Linux).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from dynaroute.draw import draw_published_set
from dynaroute.formats import write

WAYS = ("solve", "local", "ray")
_WATCH_SECONDS = 1.5
_ONE_CALL = """
import sys
import dynaroute
instances = dynaroute.read_set(sys.argv[1])
results = dynaroute.solve(instances, model=sys.argv[2])
print(sum(result.cost for result in results) / len(results))
"""


@dataclass(frozen=True)
class Measured:
    """The measurements of one way.

    Attributes
    ----------
    way
        Its name.
    count
        Number of instances.
    seconds
        Wall time from start to end.
    core_seconds
        CPU time of all its processes.
    megabytes
        Largest total memory of its processes.
    mean_cost
        Mean cost of the solutions.
    """

    way: str
    count: int
    seconds: float
    core_seconds: float
    megabytes: float
    mean_cost: float

    @property
    def rate(self) -> float:
        """Instances per second."""
        return self.count / self.seconds


def measure(way: str, file: Path, count: int, model: str, folder: Path) -> Measured:
    """Run one way, and measure its time and memory."""
    out = folder / f"{way}-{count}"
    batch = ["-m", "dynaroute", "batch", str(file), "--out", str(out), "--engine", way, "--model", model, "--json"]
    command = [sys.executable, *(["-c", _ONE_CALL, str(file), model] if way == "solve" else batch)]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    most, used = 0.0, dict[int, float]()
    while not has_ended(process):
        family = list_family(process.pid)
        most = max(most, sum(map(read_memory, family)))
        used |= {member: seconds for member in family if (seconds := read_core_seconds(member))}
    seconds = time.perf_counter() - began
    assert process.stdout is not None
    told = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"{way} failed with exit code {process.returncode}.")
    mean = float(told) if way == "solve" else json.loads(told)["mean_cost"]
    return Measured(way, count, seconds, sum(used.values()), most / 1e6, mean)


def has_ended(process: subprocess.Popen[str]) -> bool:
    """Wait a while for a process to end; reading its memory more often would use a good part of a core."""
    try:
        process.wait(_WATCH_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def list_family(process: int) -> list[int]:
    """List a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    family = [process]
    for member in family:
        family += children.get(member, [])
    return family


def read_memory(process: int) -> int:
    """Read the memory of a process in bytes, including its part of shared memory."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def read_core_seconds(process: int) -> float:
    """Read the CPU time of a process in seconds."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # the process has just ended
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_installed(way: str) -> bool:
    if way != "ray":
        return True
    from importlib.util import find_spec

    return find_spec("ray") is not None and find_spec("dynaroute.scale.engines.ray_engine") is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--size", type=int, default=20)
    parser.add_argument("--count", type=int, nargs="+", default=[100_000])
    parser.add_argument("--model", default="amd-20")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--quick", action="store_true", help="a check of a few seconds that it runs, not a measurement")
    arguments = parser.parse_args()
    counts = [200] if arguments.quick else arguments.count
    print(f"{'way':<8}{'instances':>10}{'seconds':>9}{'per s':>10}{'core s':>9}{'MB':>8}{'mean cost':>11}")
    with tempfile.TemporaryDirectory() as name:
        for count in counts:
            file = Path(name) / f"{count}.parquet"
            write(draw_published_set(arguments.size, count, seed=99).instances(), file)
            for way in filter(is_installed, arguments.ways):
                found = measure(way, file, count, arguments.model, Path(name))
                print(
                    f"{found.way:<8}{found.count:>10,}{found.seconds:>9.1f}{found.rate:>10.1f}"
                    f"{found.core_seconds:>9.1f}{found.megabytes:>8.0f}{found.mean_cost:>11.4f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
