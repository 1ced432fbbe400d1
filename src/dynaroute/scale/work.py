"""What a worker does in every engine: read a block, solve it, check it, and write its part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from dynaroute.base.errors import DynarouteError
from dynaroute.base.limits import find_factor, raise_limits
from dynaroute.problem.impossible import refuse_impossible
from dynaroute.problem.instance import Instance
from dynaroute.scale.engines.devices import name_device
from dynaroute.scale.first_routes import are_built_apart, build_first_routes, search_from_first_routes
from dynaroute.scale.input.opening import BatchInput
from dynaroute.scale.output.outcomes import RowOutcome
from dynaroute.scale.output.parts import Parts
from dynaroute.scale.output.tally import Tally
from dynaroute.scale.rows import Block, InputRow
from dynaroute.search.improvers import MachineCode, load_machine_code
from dynaroute.solving.choose import choose
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.result import Result
from dynaroute.solving.solve import solve_all


@dataclass(frozen=True)
class Work:
    """Everything that a worker needs to know. It can be sent to other processes.

    Attributes
    ----------
    source
        Where rows are read from.
    parts
        Where parts are written.
    options
        How to solve. The model is a name or a folder; `start` is None.
    group
        Number of rows solved together, starting at a multiple of it. It must not depend on workers or blocks:
        rounding in a matrix product depends on all its rows, which changes about one decision in a million.
    rows
        Number of rows of the run, which share the total time.
    workers
        Number of workers.
    limits
        Factor of the limits on input size; by default, the one in force now.
    """

    source: BatchInput
    parts: Parts
    options: SolveOptions
    group: int
    rows: int
    workers: int = 1
    limits: float = field(default_factory=find_factor)


@dataclass(frozen=True)
class BlockReport:
    """A finished block, whose part is written.

    Attributes
    ----------
    block
        The block, without its rows.
    tally
        Totals of its rows.
    """

    block: Block
    tally: Tally


class Worker:
    """Solves blocks, and keeps weights and machine code loaded between them.

    Parameters
    ----------
    work
        What to do.
    device
        Device of the policy, such as "cuda:1"; None uses the one in the options.
    """

    def __init__(self, work: Work, device: str | None = None) -> None:
        self.work = work
        # one core each: one worker per core uses the cores best, and results do not depend on the number of cores
        self.options = replace(work.options, threads=1, device=device or name_device(work.options))
        if self.options.uses_policy and not are_built_apart(self.options):
            _keep_policies_to_one_core()
        self._loaded: set[MachineCode] = set()
        match self.options.improver:
            case "2opt" | "local" | "search" as improver:
                self._load([improver])

    def solve(self, block: Block) -> BlockReport:
        """Solve all rows of a block and write its part.

        Raises
        ------
        DynarouteError
            If the part cannot be written. An error in a row is written with the row instead.
        """
        with raise_limits(self.work.limits):
            outcomes = [outcome for rows in self._group(block) for outcome in self._solve_group(rows)]
        self.work.parts.write(block, outcomes)
        return BlockReport(block.bare, Tally.of(outcomes))

    def build(self, block: Block) -> Block:
        """Build the first routes of a block, for another worker to search."""
        with raise_limits(self.work.limits):
            built = [
                row for rows in self._group(block) for row in self._build_sound([row for row in rows if not row.error])
            ]
        found = {row.number: row.first for row in built}
        return replace(block, first_routes=tuple(map(found.get, range(block.first, block.end))))

    def _group(self, block: Block) -> Iterator[list[InputRow]]:
        """Read a block, and yield groups of rows to solve together."""
        rows = self.work.source.read(block)
        if block.fault:
            rows = [replace(row, instance=None, error=block.fault) for row in rows]
        if block.first_routes is not None:
            rows = [replace(row, first=first) for row, first in zip(rows, block.first_routes, strict=True)]
        for _, group in groupby(rows, key=lambda row: row.number // self.work.group):
            yield [row if row.error else replace(row, error=self._find_obstacle(row.instance)) for row in group]

    def _solve_group(self, rows: Sequence[InputRow]) -> list[RowOutcome]:
        found = {outcome.row: outcome for outcome in self._solve_sound([row for row in rows if not row.error])}
        return [found.get(row.number) or RowOutcome.of_fault(row, row.error, self.options.usual_seed) for row in rows]

    def _find_obstacle(self, instance: Instance | None) -> str:
        """Return why this instance cannot be solved; empty if it can."""
        assert instance is not None  # otherwise the row has an error
        try:
            refuse_impossible(instance)
            self._load(choose([instance], self.options)[0].machine_code)
        except DynarouteError as error:
            return str(error)
        return ""

    def _load(self, wanted: Iterable[MachineCode]) -> None:
        """Load machine code before any clock starts, unless an earlier row needed it."""
        new = set(wanted) - self._loaded
        load_machine_code(sorted(new))
        self._loaded |= new

    def _solve_sound(self, rows: Sequence[InputRow]) -> list[RowOutcome]:
        """Solve rows without errors: together, or separately after building their first routes together."""
        if not are_built_apart(self.options):
            return self._solve_together(rows)
        return [outcome for row in self._build_sound(rows) for outcome in self._solve_together([row])]

    def _build_sound(self, rows: Sequence[InputRow]) -> Sequence[InputRow]:
        """Build first routes; if that fails, leave it to the search of each row, so that the error goes to its row."""
        if all(row.first is not None for row in rows):
            return rows
        _keep_policies_to_one_core()
        try:
            return build_first_routes(rows, self.options)
        except Exception:
            return rows

    def _solve_together(self, rows: Sequence[InputRow]) -> list[RowOutcome]:
        """Solve rows together; if that fails, solve each half, down to the row that fails."""
        if not rows:
            return []
        seed = self.options.usual_seed
        try:
            results = self._solve_all(rows)
        except Exception as error:  # no error may affect the other rows
            if len(rows) == 1:
                return [RowOutcome.of_fault(rows[0], describe_fault(error), seed)]
            middle = len(rows) // 2
            return [*self._solve_together(rows[:middle]), *self._solve_together(rows[middle:])]
        return [RowOutcome.of_result(row, result, seed) for row, result in zip(rows, results, strict=True)]

    def _solve_all(self, rows: Sequence[InputRow]) -> list[Result]:
        if len(rows) == 1 and rows[0].first is not None:
            return [search_from_first_routes(rows[0], self.options)]
        instances = [row.instance for row in rows if row.instance is not None]
        return solve_all(instances, self._share_out(len(rows)))

    def _share_out(self, count: int) -> SolveOptions:
        """Return the options with these rows' share of the total time."""
        if self.options.total_time is None:
            return self.options
        share = self.options.total_time * self.work.workers * count / self.work.rows
        return replace(self.options, total_time=share)


def _keep_policies_to_one_core() -> None:
    import torch

    torch.set_num_threads(1)


def describe_fault(error: Exception) -> str:
    """Describe an error for the user; an unexpected error is a bug in Dynaroute."""
    if isinstance(error, DynarouteError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory for this instance."
    return f"this is a bug in Dynaroute: {type(error).__name__}: {' '.join(str(error).split())}"
