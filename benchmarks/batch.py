"""Many small instances, from a Parquet file to routes: one call of solve, and the engines of `dynaroute batch`.

    python benchmarks/batch.py                                100,000 instances of 20 customers, each way once
    python benchmarks/batch.py --count 10000 --ways local     memory with a tenth of them
    python benchmarks/batch.py --model savings                what is left where solving takes next to nothing

Each way runs in a process of its own, from start to end: libraries, reading, solving (by amd-20, greedy, unless
another `--model` is given) and, for batch, checking and writing. Core seconds are what all its processes used of the
cores, which other work on the machine does not change much. Memory is the largest sum over the process and all that it
started, looked at every 1.5 seconds: what each has to itself, and its share of what several have (the proportional
set size; Linux).
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

from dynaroute.distributions import draw_published_set
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
    """What a way took.

    Attributes
    ----------
    way
        Its name.
    count
        Instances.
    seconds
        From start to end.
    core_seconds
        Of all its processes.
    megabytes
        The most memory that all its processes had at a time.
    mean_cost
        Of the routes.
    """

    way: str
    count: int
    seconds: float
    core_seconds: float
    megabytes: float
    mean_cost: float

    @property
    def rate(self) -> float:
        """Instances a second."""
        return self.count / self.seconds


def measure(way: str, file: Path, count: int, model: str, folder: Path) -> Measured:
    """Run one way, and watch its memory."""
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
    """Wait for a process for a while; reading its memory more often would take a good part of a core."""
    try:
        process.wait(_WATCH_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def list_family(process: int) -> list[int]:
    """A process, and all that it and they have started."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    family = [process]
    for member in family:
        family += children.get(member, [])
    return family


def read_memory(process: int) -> int:
    """Bytes that a process has to itself, and its share of what it has with others."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def read_core_seconds(process: int) -> float:
    """Seconds of cores that a process has used."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has just ended
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_installed(way: str) -> bool:
    if way != "ray":
        return True
    from importlib.util import find_spec

    return find_spec("ray") is not None and find_spec("dynaroute.scale.ray_engine") is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--size", type=int, default=20)
    parser.add_argument("--count", type=int, nargs="+", default=[100_000])
    parser.add_argument("--model", default="amd-20")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--quick", action="store_true", help="seconds, to see that it runs: no figures to quote")
    arguments = parser.parse_args()
    counts = [200] if arguments.quick else arguments.count
    print(f"{'way':<8}{'instances':>10}{'seconds':>9}{'a second':>10}{'core s':>9}{'MB':>8}{'mean cost':>11}")
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
