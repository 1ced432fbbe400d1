"""Compare models for all kinds of instances on their validation sets, the first being the one to beat.

    python benchmarks/validation.py amd RUN --x X --xml XML100

X and XML100 are folders with best known costs, and may be left out. Of XML100 every fifth instance is taken. The other
sets are uniform instances of seed 4321, with the usual capacities: 10,000 of 20, 50 and 100 customers, 128 of 200 and
500, 64 of 1000; on a CPU that takes hours. Cells are greedy / best of eight orientations: gaps for X and XML100, else
mean lengths. The last column is the mean change of up to ten figures (those of X and XML100, greedy at 20, 50 and 100,
eight orientations beyond) relative to the first model.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from dynaroute.base.machine import choose_device
from dynaroute.batch import InstanceBatch
from dynaroute.construct import Augmented, Greedy, construct
from dynaroute.construct.strategies import Strategy
from dynaroute.draw import draw_published_set
from dynaroute.formats.collection import find_best_costs, read_best_costs, read_collection
from dynaroute.model import Policy
from dynaroute.study.reproduction import describe_hardware
from dynaroute.training.run.validation import VALIDATION_SEED

COUNTS = {20: 10_000, 50: 10_000, 100: 10_000, 200: 128, 500: 128, 1000: 64}
LARGE = 500  # X instances with more customers than this have a column of their own
MOST_GREEDY = 100  # customers up to which there are so many instances that greedy lengths are enough
EVERY_OF_XML100 = 5


@dataclass(frozen=True)
class ValidationSet:
    """Instances, and what is known of them.

    Attributes
    ----------
    name
        Heading of its column.
    batch
        The instances.
    best
        Best known cost of each; None for uniform instances.
    is_augmented
        Whether the best of eight orientations is measured too.
    """

    name: str
    batch: InstanceBatch
    best: Sequence[float] | None = None
    is_augmented: bool = True


@dataclass(frozen=True)
class Row:
    """The figures of a model.

    Attributes
    ----------
    cells
        One for each column.
    figures
        Mean lengths, or mean ratios to the best known costs: those that models are compared by.
    """

    cells: dict[str, str]
    figures: list[float]

    def compare(self, first: Row) -> float:
        """The mean change of the figures, as a fraction."""
        return statistics.fmean(own / other - 1 for own, other in zip(self.figures, first.figures, strict=True))


def list_sets(x: Path | None, xml: Path | None, counts: dict[int, int]) -> Iterator[ValidationSet]:
    """Read and draw the sets."""
    for name, path, every in (("X", x, 1), ("XML100", xml, EVERY_OF_XML100)):
        if path is None:
            continue
        collection, table = read_collection(path), find_best_costs(path if path.is_dir() else path.parent)
        if table is None:
            raise SystemExit(f"There is no table of best known costs beside {path}.")
        best = read_best_costs(table, collection).costs
        yield ValidationSet(name, InstanceBatch.from_instances(collection.instances[::every]), best[::every])
    for size, count in counts.items():
        drawn = draw_published_set(size, count, VALIDATION_SEED)
        batch = InstanceBatch.from_arrays(drawn.depot, drawn.locations, drawn.demands, drawn.capacity)
        yield ValidationSet(f"n={size}", batch, is_augmented=size > MOST_GREEDY)


def measure(policy: Policy, sets: Sequence[ValidationSet]) -> Row:
    """Build the solutions of all sets."""
    cells: dict[str, str] = {}
    figures: list[float] = []
    for each in sets:
        batch = each.batch.to(policy.device)
        strategies: list[Strategy] = [Greedy(), *([Augmented(Greedy())] if each.is_augmented else [])]
        lengths = [construct(policy, batch, strategy).lengths(batch).double().cpu() for strategy in strategies]
        if each.best is None:
            means = [float(length.mean()) for length in lengths]
            cells[each.name] = " / ".join(f"{mean:.4f}" for mean in means)
            figures.append(means[-1])
            continue
        ratios = [length / length.new_tensor(each.best) for length in lengths]
        figures += [float(ratio.mean()) for ratio in ratios]
        cells[each.name] = show_gaps([ratio.mean() for ratio in ratios])
        is_large = (batch.sizes > LARGE).cpu()
        if each.name == "X" and is_large.any():
            cells[f"X, n > {LARGE}"] = show_gaps([ratio[is_large].mean() for ratio in ratios])
            cells["worst X"] = show_gaps([ratio.max() for ratio in ratios])
    return Row(cells, figures)


def show_gaps(ratios: Sequence[Tensor]) -> str:
    """Ratios to the best known costs, in percent above them."""
    return " / ".join(f"{100 * (float(ratio) - 1):.2f}" for ratio in ratios)


def print_table(models: Sequence[str], sets: Sequence[ValidationSet], device: str) -> dict[str, Row]:
    """Measure all models, and print their rows; returns them by model."""
    print(f"{describe_hardware(device)}; greedy / best of eight orientations:\n", flush=True)
    rows: dict[str, Row] = {}
    for model in models:
        row = measure(Policy.from_pretrained(model).to(device), sets)
        if not rows:
            print(f"| | {' | '.join(row.cells)} | change |\n|---{'|---' * (len(row.cells) + 1)}|")
        rows[model] = row
        change = 100 * row.compare(rows[models[0]])
        print(f"| {Path(model).name} | {' | '.join(row.cells.values())} | {change:+.3f} % |", flush=True)
    return rows


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["amd"], help="shipped models or folders; default: amd")
    parser.add_argument("--x", type=Path, help="folder of the X set")
    parser.add_argument("--xml", type=Path, help="folder of XML100")
    parser.add_argument("--quick", action="store_true", help="a check: two instances of 20, 50 and 200 customers")
    given = parser.parse_args()
    counts = {20: 2, 50: 2, 200: 2} if given.quick else COUNTS
    print_table(given.models, list(list_sets(given.x, given.xml, counts)), choose_device("auto"))


if __name__ == "__main__":
    main()
