"""Kill parts of running batches at random moments, and check their output: `make chaos`.

A two-node Ray cluster runs on this machine. `dynaroute batch --engine ray` solves a set there while its actors, its
driver or a node of the cluster is killed again and again (`kill -9`). A killed driver is restarted with --resume, a
killed node is replaced. In the end every id must appear exactly once, every row must pass `dynaroute.check`, and all
routes must equal those of an undisturbed run.

    python tools/chaos.py [actor|driver|node ...] [--kills 20] [--rows 400] [--seed 0]
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dynaroute import check, write
from dynaroute.draw import draw_paper_set
from dynaroute.problem.solution import Solution
from dynaroute.scale.input.opening import open_source
from dynaroute.scale.output.parts import Parts
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block

__all__ = ["KINDS", "Disturbance", "Problem", "TwoNodes", "disturb", "make_problem", "start_two_nodes"]

KINDS = ("actor", "driver", "node")

_LONGEST_PEACE = 12.0  # seconds between kills, enough for a run to start and solve some blocks
_PATIENCE = 600.0  # seconds for an undisturbed run
_ACTOR = "ray::MapWorker"  # name of the processes of Ray Data's actors
_OBJECT_STORE_BYTES = 100 << 20


@dataclass(frozen=True)
class Problem:
    """A set, the options to solve it with, and the expected routes.

    Attributes
    ----------
    input
        The set.
    options
        Options of `dynaroute batch`, which determine the routes.
    expected
        The routes of each id, from an undisturbed run.
    """

    input: Path
    options: tuple[str, ...]
    expected: dict[str, tuple[tuple[int, ...], ...]]


@dataclass
class Disturbance:
    """The kills of one kind of process, and their result."""

    kind: str
    kills: int = 0
    runs: int = 0
    rows: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.kind}: {self.kills} kills in {self.runs} runs and {self.seconds:.0f} s; {self.rows} rows, "
            "each id once, all confirmed by check, all routes as undisturbed"
        )


@dataclass
class TwoNodes:
    """A cluster of two nodes; the second can be killed and replaced."""

    cluster: Any
    second: Any
    random: random.Random = field(default_factory=lambda: random.Random(0))

    @property
    def address(self) -> str:
        """The address for drivers."""
        return str(self.cluster.address)

    def kill_node(self) -> bool:
        """Kill the second node with everything that runs there, and replace it."""
        self.cluster.remove_node(self.second, allow_graceful=False)
        self.second = _add_node(self.cluster)
        self.cluster.wait_for_nodes(timeout=60)  # until then the dead one still counts as a node
        return True

    def kill_actor(self) -> bool:
        """Kill a working actor, if there is one."""
        actors = [pid for node in self.cluster.list_all_nodes() for pid in _list_actors(_find_raylet(node))]
        if not actors:
            return False
        with suppress(ProcessLookupError):
            os.kill(self.random.choice(actors), signal.SIGKILL)
            return True
        return False


@contextmanager
def start_two_nodes() -> Iterator[TwoNodes]:
    """Run a cluster of two nodes with one core each on this machine; the second one claims to have a GPU."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "object_store_memory": _OBJECT_STORE_BYTES, "include_dashboard": False}
    cluster: Any = Cluster(initialize_head=True, head_node_args=head)
    try:
        yield TwoNodes(cluster, _add_node(cluster))
    finally:
        cluster.shutdown()


def make_problem(folder: Path, rows: int, options: Sequence[str]) -> Problem:
    """Make a set of instances, and solve it undisturbed.

    Parameters
    ----------
    folder
        Folder for the set and its routes.
    rows
        Number of instances, with 20 customers each.
    options
        Options of `dynaroute batch`.
    """
    file, out = folder / "set.parquet", folder / "undisturbed"
    write(draw_paper_set(20, rows, np.random.default_rng(0)).instances(), file)
    _start(Problem(file, tuple(options), {}), out, "--engine", "local").wait()
    return Problem(file, tuple(options), {row.id: row.routes or () for row in _read_rows(out)})


def disturb(
    kind: str, kills: int, nodes: TwoNodes, problem: Problem, folder: Path, longest_peace: float = _LONGEST_PEACE
) -> Disturbance:
    """Solve the problem while processes are killed, as often as needed to reach this many kills.

    Parameters
    ----------
    kind
        One of `KINDS`.
    kills
        Number of kills.
    nodes, problem
        The cluster and the problem.
    folder
        Folder for the output.
    longest_peace
        Most seconds between kills.
    """
    done, began = Disturbance(kind), time.monotonic()
    while done.kills < kills:
        out = folder / f"{kind}-{done.runs}"
        _disturb_run(kills, nodes, problem, out, longest_peace, done)
        done.rows += _refuse_wrong(problem, out)
        done.runs += 1
    done.seconds = time.monotonic() - began
    return done


def _disturb_run(
    kills: int, nodes: TwoNodes, problem: Problem, out: Path, longest_peace: float, done: Disturbance
) -> None:
    engine = ("--engine", "ray", "--address", nodes.address, "--resume")
    driver = _start(problem, out, *engine)
    try:
        while done.kills < kills:
            with suppress(subprocess.TimeoutExpired):
                driver.wait(nodes.random.uniform(0.0, longest_peace))
                break  # it ended before the kill
            if done.kind == "driver":
                driver.kill()
                driver.wait()
                driver = _start(problem, out, *engine)
                done.kills += 1
            elif nodes.kill_node() if done.kind == "node" else nodes.kill_actor():
                done.kills += 1
        if driver.wait(_PATIENCE) != 0:
            raise SystemExit(f"{done.kind}: exit code {driver.returncode}: {_name_log(out).read_text()}")
    finally:
        driver.kill()


def _refuse_wrong(problem: Problem, out: Path) -> int:
    """Check every written row; returns the number of rows."""
    source = open_source(str(problem.input))
    instances = {row.id: row.instance for row in source.read(Block(0, len(source)))}
    rows = _read_rows(out)
    counts = Counter(row.id for row in rows)
    faults = [f"{each} is missing" for each in instances if each not in counts]
    faults += [f"{each} is there {count} times" for each, count in counts.items() if count > 1]
    for row in rows:
        instance = instances[row.id]
        if instance is None or row.routes is None or row.error is not None or not row.checked:
            faults.append(f"{row.id} has no checked routes: {row.error}")
        elif violations := check(instance, Solution(row.routes, stated_cost=row.cost)):
            faults.append(f"{row.id} is wrong: {violations[0].message}")
        elif row.routes != problem.expected[row.id]:
            faults.append(f"{row.id} has different routes than undisturbed")
    if faults:
        raise SystemExit(f"{out}: {len(faults)} faults, such as: {faults[0]}.")
    return len(rows)


def _read_rows(out: Path) -> list[Any]:
    parts = Parts(StoragePlace(str(out)))
    return [row for block in parts.find() for row in parts.read(block)]


def _start(problem: Problem, out: Path, *more: str) -> subprocess.Popen[bytes]:
    """Start or continue a run; its messages go into a file next to its output."""
    command = [
        sys.executable,
        "-m",
        "dynaroute",
        "batch",
        str(problem.input),
        "--out",
        str(out),
        *problem.options,
        *more,
    ]
    with _name_log(out).open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def _name_log(out: Path) -> Path:
    return out.with_suffix(".log")


def _add_node(cluster: Any) -> Any:
    return cluster.add_node(num_cpus=1, num_gpus=1, object_store_memory=_OBJECT_STORE_BYTES)


def _find_raylet(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)


def _list_actors(raylet: int) -> list[int]:
    """List the processes of actors among the children of a node's raylet."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == raylet and (folder / "cmdline").read_text().startswith(_ACTOR):
                found.append(int(folder.name))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"which of {', '.join(KINDS)}; all if left out")
    parser.add_argument("--kills", type=int, default=20, help="kills of each kind")
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--iterations", type=int, default=20_000, help="iterations of the search of each row")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random moments")
    options = parser.parse_args()
    if unknown := [kind for kind in options.kinds if kind not in KINDS]:
        parser.error(f"there is no kind {unknown[0]!r}")
    with tempfile.TemporaryDirectory() as name, start_two_nodes() as nodes:
        folder, nodes.random = Path(name), random.Random(options.seed)
        problem = make_problem(folder, options.rows, ("--iterations", str(options.iterations), "--block", "8"))
        for kind in options.kinds or KINDS:
            print(disturb(kind, options.kills, nodes, problem, folder), flush=True)


if __name__ == "__main__":
    main()
