"""The summary of a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dynaroute.scale.engines.engine import WorkersNow
from dynaroute.scale.output.tally import Tally, make_bars


@dataclass(frozen=True)
class BatchSummary:
    """The summary of a run.

    Attributes
    ----------
    tally
        Statistics of all rows, including those of the run that was continued.
    workers
        Number of workers, and of those that were replaced.
    seconds, solved
        Time of this run, and the rows that it solved.
    """

    tally: Tally
    workers: WorkersNow
    seconds: float = 0.0
    solved: int = 0

    @property
    def rate(self) -> float:
        """Rows that this run solved per second."""
        return self.solved / self.seconds if self.seconds else 0.0

    def to_json(self) -> dict[str, Any]:
        """Convert it to plain data for JSON."""
        tally = self.tally
        return {
            "rows": tally.rows,
            "failed": tally.failed,
            "mean_cost": tally.mean_cost,
            "methods": dict(tally.methods),
            "solved_now": self.solved,
            "seconds": self.seconds,
            "rows_per_second": self.rate,
            "workers": self.workers.alive,
            "replaced_workers": self.workers.replaced,
            "histogram": [asdict(bar) for bar in make_bars(tally.cost_counts)],
            "errors": [{"id": name, "error": error} for name, error in tally.faults],
        }
