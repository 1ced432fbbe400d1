"""Gaps of all methods to proven optima, on the first instances of the published sets."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dynaroute.base.errors import FormatError, Where, in_file
from dynaroute.base.files import read_bytes, write_bytes
from dynaroute.base.vocabulary import ProverName
from dynaroute.draw import InstanceArrays, draw_published_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.solving.solve import solve
from dynaroute.study.evaluation import evaluate, require_right
from dynaroute.study.exact import Proof, choose_prover, prove
from dynaroute.study.other_solvers import Routes, is_installed, solve_with_hgs, solve_with_lkh, solve_with_pyvrp
from dynaroute.study.reference_lengths import SIZES
from dynaroute.weights import shipped_models

EXACT = "exact"
_PROVEN_SIZE = 20  # customers; larger instances take too long
_PEERS = {"HGS-CVRP": ("hygese", solve_with_hgs), "PyVRP": ("pyvrp", solve_with_pyvrp)}
_SAVED_EACH = 10  # proofs; at most this many are lost if the process is killed


@dataclass(frozen=True)
class MeasuredMethod:
    """Results of a method on the first instances of one size.

    Attributes
    ----------
    lengths
        Cost of each instance.
    seconds
        Time per instance.
    """

    lengths: tuple[float, ...]
    seconds: float

    @property
    def mean(self) -> float:
        """Mean length."""
        return statistics.fmean(self.lengths)


@dataclass(frozen=True)
class Optimality:
    """All that was measured.

    Attributes
    ----------
    count
        Number of instances of each size, the first of the published set.
    entries
        Results by row and size.
    skipped
        What could not be measured, and why.
    """

    count: int
    entries: Mapping[tuple[str, int], MeasuredMethod]
    skipped: tuple[str, ...] = ()

    def best(self, size: int) -> float:
        """The mean to compare with: the proven optimum, or the best method's."""
        means = {row: entry.mean for (row, of), entry in self.entries.items() if of == size}
        return next((mean for row, mean in means.items() if row.startswith(EXACT)), min(means.values()))

    def to_markdown(self) -> str:
        """Format the table; gaps are to the proven optimum, or else to the best method."""
        sizes = sorted({size for _, size in self.entries})
        is_proven = {size: any(row.startswith(EXACT) for row, of in self.entries if of == size) for size in sizes}
        lines = [
            f"The first {self.count:,} instances of the published sets (seed 1234), one core. Gaps are to the proven "
            f"optimum{'' if all(is_proven.values()) else ' where there is one, else to the best of the column'}.",
            "",
            "| method | " + " | ".join(f"n={size} | gap | solved to the optimum | seconds" for size in sizes) + " |",
            "|---" * (1 + 4 * len(sizes)) + "|",
        ]
        for row in dict.fromkeys(row for row, _ in self.entries):
            cells = [self._show(row, size, is_proven[size]) for size in sizes]
            lines.append(f"| {row} | {' | '.join(cells)} |")
        return "\n".join(lines) + "\n"

    def _show(self, row: str, size: int, is_proven: bool) -> str:
        entry = self.entries.get((row, size))
        if entry is None:
            return " | | | "
        solved = ""
        if is_proven:
            optima = next(each for (name, of), each in self.entries.items() if of == size and name.startswith(EXACT))
            pairs = zip(entry.lengths, optima.lengths, strict=True)
            solved = f"{100 * sum(length <= best * (1 + 1e-6) for length, best in pairs) / self.count:.1f} %"
        gap = 100 * (entry.mean / self.best(size) - 1)
        return f"{entry.mean:.5f} | {gap:.3f} % | {solved} | {entry.seconds:.3g}"


def measure_optimality(
    count: int,
    *,
    exact: ProverName | bool = False,
    proofs: Path | None = None,
    lkh: Path | None = None,
    device: str = "cpu",
    progress: Callable[[str, float], None] = lambda words, done: None,
) -> Optimality:
    """Measure all available methods on the first instances: at n=20 only, or at all three sizes if LKH3 is given.

    Parameters
    ----------
    count
        Number of instances per size.
    exact
        Whether to prove optima at n=20, or the name of the prover.
    proofs
        A file that stores proofs; proofs already in it are reused.
    lkh
        Path of the LKH3 program, if available.
    device
        Device for policies.
    progress
        Called now and then with a description of the current work and the share of all work done.
    """
    entries: dict[tuple[str, int], MeasuredMethod] = {}
    skipped = [f"{name} (pip install {package})" for name, (package, _) in _PEERS.items() if not is_installed(package)]
    sizes = SIZES if lkh is not None else (_PROVEN_SIZE,)
    for number, size in enumerate(sizes):
        instances = _draw_first(size, count)
        methods: list[tuple[str, Callable[[], MeasuredMethod]]] = []
        if exact and size == _PROVEN_SIZE:
            prover = choose_prover(None if exact is True else exact)
            told = partial(_report, progress, f"proving optima with {prover}", number / len(sizes), 0.5 / len(sizes))
            methods.append((f"{EXACT} ({prover})", partial(_measure_proofs, instances, prover, proofs, told)))
        if lkh is not None:
            methods.append(("LKH3", partial(_measure_peer, instances, partial(_solve_with_lkh, lkh), size / 100)))
        methods += _list_peers(instances, size / 100)
        methods += _list_own(instances, size, device)
        for index, (row, measure) in enumerate(methods):
            progress(f"{row}, n={size}", (number + index / len(methods)) / len(sizes))
            entries[row, size] = measure()
    return Optimality(count, entries, tuple(skipped))


def _draw_first(size: int, count: int) -> list[Instance]:
    """Draw the whole set, and keep its first instances."""
    drawn = draw_published_set(size)
    return InstanceArrays(
        drawn.depot[:count], drawn.locations[:count], drawn.demands[:count], drawn.capacity[:count]
    ).instances()


def _report(progress: Callable[[str, float], None], words: str, done: float, whole: float, share: float) -> None:
    progress(words, done + whole * share)


def _list_peers(instances: Sequence[Instance], seconds: float) -> Iterator[tuple[str, Callable[[], MeasuredMethod]]]:
    for name, (package, solve_one) in _PEERS.items():
        if is_installed(package):
            yield f"{name}, {seconds:g} s", partial(_measure_peer, instances, solve_one, seconds)


def _list_own(
    instances: Sequence[Instance], size: int, device: str
) -> Iterator[tuple[str, Callable[[], MeasuredMethod]]]:
    yield f"Dynaroute, search of {size / 100:g} s", partial(_measure_own, instances, time_limit=size / 100, threads=1)
    for name in shipped_models():
        if not name.endswith(f"-{size}"):
            continue
        if name.startswith("amd"):
            yield f"{name}, x8 augmentation", partial(_measure_own, instances, model=name, augment=True, device=device)
        yield f"{name}, greedy", partial(_measure_own, instances, model=name, device=device)


def _measure_own(instances: Sequence[Instance], **settings: object) -> MeasuredMethod:
    evaluation = evaluate(instances, **{"model": "auto", "seed": 1, **settings})  # type: ignore[arg-type]
    return MeasuredMethod(evaluation.lengths, evaluation.seconds_per_instance)


def _solve_with_lkh(binary: Path, instance: Instance, seconds: float, seed: int) -> Routes:
    del seconds  # LKH3 is limited by its trials instead
    return solve_with_lkh(binary, instance, seed)


def _measure_peer(
    instances: Sequence[Instance], solve_one: Callable[[Instance, float, int], Routes], seconds: float
) -> MeasuredMethod:
    began, lengths = time.perf_counter(), []
    for instance in instances:
        solution = Solution(tuple(map(tuple, solve_one(instance, seconds, 1))))
        require_right(instance, solution)
        lengths.append(solution.cost(instance))
    return MeasuredMethod(tuple(lengths), (time.perf_counter() - began) / len(instances))


def _measure_proofs(
    instances: Sequence[Instance], prover: ProverName, path: Path | None, progress: Callable[[float], None]
) -> MeasuredMethod:
    found = {} if path is None else read_proofs(path, instances)
    for index, instance in enumerate(instances):
        if index in found:
            continue
        start = solve(instance, time_limit=0.05, threads=1, seed=1).solution
        found[index] = prove(instance, start, prover)
        if path is not None and (len(found) % _SAVED_EACH == 0 or len(found) == len(instances)):
            _write_proofs(path, found)
        progress((index + 1) / len(instances))
    proven = [found[index] for index in range(len(instances))]
    if not all(proof.is_optimal for proof in proven):
        raise AssertionError("an optimum was not proven")
    return MeasuredMethod(tuple(proof.cost for proof in proven), statistics.fmean(proof.seconds for proof in proven))


def read_proofs(path: Path, instances: Sequence[Instance]) -> dict[int, Proof]:
    """Read stored proofs, by index of their instance; empty if the file does not exist.

    Parameters
    ----------
    path
        Written by `measure_optimality`: one line of JSON per proof.
    instances
        The instances they belong to; `check` verifies the routes.
    """
    if not path.exists():
        return {}
    found = {}
    with in_file(path):
        for number, line in enumerate(read_bytes(path).decode(errors="replace").splitlines(), 1):
            try:
                kept = json.loads(line)
                index, solution = int(kept["instance"]) - 1, Solution(kept["routes"], kept["cost"])
                proof = Proof(solution, float(kept["bound"]), float(kept["seconds"]))
                is_sound = index >= len(instances) or not check(instances[index], solution)
            except (KeyError, TypeError, ValueError):
                is_sound = False
            if not is_sound:
                raise FormatError(
                    "this line is not a valid proof of its instance.", where=Where(line=number), remedy="Delete it."
                )
            if index < len(instances):
                found[index] = proof
    return found


def _write_proofs(path: Path, found: Mapping[int, Proof]) -> None:
    lines = [
        json.dumps(
            {
                "instance": index + 1,
                "cost": proof.cost,
                "bound": proof.bound,
                "seconds": round(proof.seconds, 3),
                "routes": [list(route) for route in proof.solution.routes],
            }
        )
        for index, proof in sorted(found.items())
    ]
    write_bytes(path, ("\n".join(lines) + "\n").encode())
