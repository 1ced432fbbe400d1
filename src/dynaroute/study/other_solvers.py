"""Other solvers, each for one instance: HGS-CVRP, PyVRP, and the user's own LKH3."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FileError, FormatError, Where
from dynaroute.formats.vrplib.writing import format_vrplib
from dynaroute.problem.instance import Instance

__all__ = [
    "HGS_UNITS",
    "UNITS",
    "Routes",
    "in_whole_numbers",
    "is_installed",
    "solve_with_hgs",
    "solve_with_lkh",
    "solve_with_pyvrp",
]

Routes: TypeAlias = Sequence[Sequence[int]]

UNITS = 10_000  # integer extent given to solvers that want integers, for instances with decimal coordinates
HGS_UNITS = 1000  # its constants suit coordinates of about this size
_LKH_UNITS = 100_000
_LKH_PATIENCE = 3600.0  # seconds


def is_installed(package: str) -> bool:
    """Whether a Python package is installed."""
    return find_spec(package) is not None


def solve_with_hgs(instance: Instance, seconds: float, seed: int) -> Routes:
    """Solve with hybrid genetic search (Vidal, via hygese), default settings, for some seconds on one core."""
    import hygese

    settings = hygese.AlgorithmParameters(timeLimit=seconds, seed=seed)
    data: dict[str, Any] = {"demands": instance.demands, "vehicle_capacity": instance.capacity}
    is_plain = instance.coordinates is not None and instance.distances is None and instance.metric == "euclidean"
    if is_plain and instance.rounding != "up":
        assert instance.coordinates is not None
        places = instance.coordinates - instance.coordinates.min(axis=0)  # HGS refuses negative coordinates
        if instance.rounding == "none":
            places = places * (HGS_UNITS / max(places.max(), 1e-9))
        data |= {"x_coordinates": places[:, 0], "y_coordinates": places[:, 1]}
    else:
        data["distance_matrix"] = instance.distance_matrix
    answer = hygese.Solver(settings, verbose=False).solve_cvrp(data, rounding=instance.rounding == "nearest")
    return list(answer.routes)


def solve_with_pyvrp(instance: Instance, seconds: float, seed: int) -> Routes:
    """Solve with PyVRP, default settings, for some seconds."""
    import pyvrp
    from pyvrp.stop import MaxRuntime

    places = instance.coordinates if instance.coordinates is not None else np.zeros((instance.size + 1, 2))
    matrix: Any = in_whole_numbers(instance)  # its type stubs do not know these arrays
    data = pyvrp.ProblemData(
        locations=[pyvrp.Location(float(x), float(y)) for x, y in places],
        clients=[pyvrp.Client(node, delivery=[int(instance.demands[node])]) for node in range(1, instance.size + 1)],
        depots=[pyvrp.Depot(0)],
        vehicle_types=[pyvrp.VehicleType(instance.size, capacity=[instance.capacity])],
        distance_matrices=[matrix],
        duration_matrices=[np.zeros_like(matrix)],
    )
    result = pyvrp.solve(data, stop=MaxRuntime(seconds), seed=seed, collect_stats=False, display=False)
    return [_read_pyvrp_route(route) for route in result.best.routes()]


def _read_pyvrp_route(route: Any) -> list[int]:
    return [activity.idx + 1 for activity in route if activity.is_client()]


def in_whole_numbers(instance: Instance) -> NDArray[np.int64]:
    """Return integer distances: unchanged if they are integers, else in ten-thousandths of the instance's extent."""
    matrix: NDArray[np.float64] = instance.distance_matrix
    if (matrix == matrix.round()).all():
        return matrix.astype(np.int64)
    extent = matrix.max() if instance.coordinates is None else np.ptp(instance.coordinates, axis=0).max()
    scaled: NDArray[np.int64] = np.rint(matrix * (UNITS / extent)).astype(np.int64)
    return scaled


def solve_with_lkh(binary: Path, instance: Instance, seed: int, runs: int = 1, trials: int = 10_000) -> Routes:
    """Solve with the user's LKH3 program (Helsgaun), through its parameter, problem and tour files.

    Parameters
    ----------
    binary
        The program.
    instance
        An instance with plane coordinates, which LKH3 gets as integers, in hundred-thousandths of the longer side.
    seed
        Seed of its random numbers.
    runs, trials
        Its settings RUNS and MAX_TRIALS.

    Raises
    ------
    FileError
        If the program cannot be run, or leaves no tour.
    FormatError
        If the tour file is invalid.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        problem, tour, parameters = (folder / f"dynaroute.{suffix}" for suffix in ("vrp", "tour", "par"))
        problem.write_text(format_vrplib(_in_lkh_units(instance)))
        settings = {
            "PROBLEM_FILE": problem,
            "OUTPUT_TOUR_FILE": tour,
            "MAX_TRIALS": trials,
            "RUNS": runs,
            "SEED": seed,
            "TRACE_LEVEL": 0,
        }
        parameters.write_text("SPECIAL\n" + "".join(f"{name} = {value}\n" for name, value in settings.items()))
        try:
            ended = subprocess.run(
                [str(binary), str(parameters)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_LKH_PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _no_tour(binary, getattr(error, "strerror", None) or "it did not end within an hour") from error
        if not tour.exists():
            words = (ended.stderr or ended.stdout).decode(errors="replace").strip().splitlines()[-1:]
            raise _no_tour(binary, f"it left no tour (exit code {ended.returncode}) {' '.join(words)[:200]}".strip())
        return read_lkh_tour(tour.read_text(errors="replace"), instance.size)


def read_lkh_tour(text: str, size: int) -> Routes:
    """Read routes from a tour file: nodes count from 1, the depot first; higher numbers stand for the depot again."""
    lines = text.split("TOUR_SECTION")[-1].split()
    nodes = []
    for word in lines:
        if word in ("-1", "EOF"):
            break
        if not word.isdigit():
            raise FormatError(f"{word[:40]!r} is not a node number.", remedy="Is this LKH3?")
        nodes.append(int(word) - 1)
    routes: list[list[int]] = [[]]
    start = next((place for place, node in enumerate(nodes) if node == 0 or node > size), 0)
    for node in nodes[start:] + nodes[:start]:  # a tour is a circle
        if 0 < node <= size:
            routes[-1].append(node)
        else:
            routes.append([])
    return [route for route in routes if route]


def _in_lkh_units(instance: Instance) -> Instance:
    if instance.coordinates is None or instance.distances is not None or instance.metric != "euclidean":
        raise FormatError("LKH3 needs positions in the plane.", where=Where(field="coordinates"))
    places = instance.coordinates - instance.coordinates.min(axis=0)
    scaled = np.rint(places * (_LKH_UNITS / max(float(places.max()), 1e-9)))
    return Instance(scaled, instance.demands, instance.capacity, name="dynaroute", rounding="nearest")


def _no_tour(binary: Path, reason: str) -> FileError:
    return FileError(
        f"LKH3 did not solve an instance: {reason}.",
        where=Where(file=str(binary)),
        remedy="Give the path of an LKH3 program that runs on this machine.",
    )
