"""One policy on RouteFinder's sets of every variant that has a published reference, beside the published gaps."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from dynaroute.base.errors import OptionError
from dynaroute.base.machine import choose_device
from dynaroute.draw.variants import VARIANT_SET_COUNT, VARIANTS, draw_variant_set
from dynaroute.solving.building import load_policy
from dynaroute.solving.options import Observers, SolveOptions
from dynaroute.study.evaluation import evaluate_all
from dynaroute.study.reproduction import describe_hardware
from dynaroute.weights import GENERALIST

__all__ = ["MeasuredVariant", "VariantTable", "measure_variants"]

_SIZES = (50, 100)
_LEFT_OUT = ("ovrpl", "ovrpltw")  # of published means, whose references are as doubtful as these two


class _Published(NamedTuple):
    """PyVRP's mean length of a set (10 s an instance of 50 customers, 20 s of 100), and gaps to it in percent.

    The gaps are those of RouteFinder, of CaDA, and the best of all published, with eight orientations and n starts.
    """

    length: float
    routefinder: float | None = None
    cada: float | None = None
    best: float | None = None


_PUBLISHED: dict[str, tuple[_Published | None, _Published | None]] = {  # with 50 and with 100 customers
    "cvrp": (_Published(10.3721, 1.33, 1.28, 0.87), _Published(15.6280, 1.53, 1.49, 1.06)),
    "vrptw": (_Published(16.0308, 2.06, 1.61, 0.98), _Published(25.4230, 3.30, 2.56, 2.38)),
    "ovrp": (_Published(6.5067, 2.73, 2.68, 1.86), _Published(9.7245, 4.03, 3.99, 3.29)),
    "vrpl": (_Published(10.5874, 1.51, 1.47, 1.15), _Published(15.7656, 1.87, 1.77, 1.47)),
    "vrpb": (_Published(9.6875, 3.08, 2.99, 2.50), _Published(14.3769, 3.89, 3.87, 3.34)),
    "ovrptw": (_Published(10.5100, 1.35, 1.04, 0.54), _Published(16.9264, 2.38, 1.77, 1.77)),
    "ovrpl": (_Published(6.5068, 2.61, 2.69, 2.14), _Published(9.7245, 3.80, 3.90, 3.30)),
    "vrpbl": (_Published(10.1858, 3.86, 3.71, 3.48), _Published(14.7789, 4.95, 4.87, 4.62)),
    "vrpbtw": (_Published(18.2922, 1.69, 1.23, 1.23), _Published(29.4666, 2.70, 2.06, 2.06)),
    "vrpltw": (_Published(16.3557, 2.39, 1.96, 1.96), _Published(25.7573, 3.69, 2.95, 2.95)),
    "vrpbltw": (_Published(18.5887, 1.89, 1.43, 1.43), _Published(29.8100, 3.03, 2.39, 2.33)),
    "ovrpb": (_Published(6.8981, 2.54, 2.34, 2.14), _Published(10.3349, 4.18, 3.94, 3.61)),
    "ovrpbl": (_Published(6.8990, 2.58, 2.36, 2.16), _Published(10.3350, 4.21, 3.96, 3.62)),
    "ovrpbtw": (_Published(11.6686, 1.14, 0.83, 0.83), _Published(19.1559, 2.05, 1.43, 1.43)),
    "ovrpbltw": (_Published(11.6684, 1.15, 0.83, 0.83), _Published(19.1560, 2.05, 1.43, 1.43)),
    "ovrpltw": (_Published(10.5101, 1.84, 1.10, 1.10), _Published(16.9263, 3.36, 2.03, 2.03)),
    "vrpmb": (_Published(9.0890), _Published(13.5408)),
    "ovrpmb": (_Published(6.1110), _Published(9.0096)),
    "vrpmbl": (_Published(9.4905), _Published(13.7925)),
    "vrpmbtw": (_Published(16.0137), _Published(25.4922)),
    "ovrpmbl": (_Published(6.1113), _Published(9.0098)),
    "ovrpmbtw": (_Published(10.4736), _Published(16.9631)),
    "vrpmbltw": (_Published(16.3055), _Published(25.8142)),
    "ovrpmbltw": (_Published(10.4735), _Published(16.9632)),
    "mdcvrp": (None, _Published(11.89)),
    "mdovrp": (None, _Published(7.97)),
    "mdvrptw": (None, _Published(19.33)),
    "mdovrptw": (None, _Published(13.00)),
    "mdvrpb": (None, _Published(11.64)),
    "mdvrpbtw": (None, _Published(22.03)),
}


_GROUPS = {  # the first as published tables have it
    "of one depot": [
        name
        for name in _PUBLISHED
        if VARIANTS[name].depots == 1 and VARIANTS[name].backhauls != "mixed" and name not in _LEFT_OUT
    ],
    "with backhauls in any order": [name for name in _PUBLISHED if VARIANTS[name].backhauls == "mixed"],
    "with several depots": [name for name in _PUBLISHED if VARIANTS[name].depots > 1],
}


def find_reference(name: str, size: int) -> float | None:
    """Find PyVRP's published mean length of a set of 50 or 100 customers; None if there is none.

    Parameters
    ----------
    name, size
        The variant, and the number of customers.
    """
    of_sizes = _PUBLISHED.get(name)
    found = None if of_sizes is None or size not in _SIZES else of_sizes[_SIZES.index(size)]
    return None if found is None else found.length


class MeasuredVariant(NamedTuple):
    """One set.

    Attributes
    ----------
    name, size
        The variant, and the number of customers.
    length
        Mean length of the policy's routes.
    seconds
        Time per instance.
    """

    name: str
    size: int
    length: float
    seconds: float

    @property
    def published(self) -> _Published:
        """The published figures of the set."""
        found = _PUBLISHED[self.name][_SIZES.index(self.size)]
        assert found is not None  # only such sets are measured
        return found

    @property
    def gap(self) -> float:
        """Gap to the published mean length in percent."""
        return 100 * (self.length / self.published.length - 1)


@dataclass(frozen=True)
class VariantTable:
    """What was measured.

    Attributes
    ----------
    model, hardware
        The model's name, and where it ran.
    count
        Instances of each set; other numbers than 1,000 are other instances than those of the published figures.
    entries
        The sets.
    skipped
        Variants whose rules the model does not know.
    """

    model: str
    hardware: str
    count: int
    entries: tuple[MeasuredVariant, ...]
    skipped: tuple[str, ...]

    @property
    def means(self) -> dict[str, float]:
        """Mean gaps in percent of the groups in which they are published, for each size."""
        found = {}
        for size in _SIZES:
            for group, variants in _GROUPS.items():
                gaps = [row.gap for row in self.entries if row.size == size and row.name in variants]
                if gaps:
                    found[f"{group}, n={size}"] = statistics.fmean(gaps)
        return found

    def to_markdown(self) -> str:
        """Write a table for each size, with means of groups as published tables have them."""
        return "\n".join(self._write_table(size) for size in _SIZES)

    def _write_table(self, size: int) -> str:
        rows = [each for each in self.entries if each.size == size]
        heading = f"n={size}, {self.count} instances each, {self.model} greedy x8 on {self.hardware}; gaps in percent."
        lines = [heading, "", f"| variant | length | {self.model} | RouteFinder | CaDA | best published | s |"]
        lines += ["|---|---|---|---|---|---|---|"]
        for row in rows:
            gaps = " | ".join("" if gap is None else f"{gap:.2f}" for gap in row.published[1:])
            lines += [f"| {row.name.upper()} | {row.length:.4f} | {row.gap:.2f} | {gaps} | {row.seconds:.4f} |"]
        for group, variants in _GROUPS.items():
            averaged = [row for row in rows if row.name in variants]
            if averaged:
                means = [f"{self.means[f'{group}, n={size}']:.2f}"]
                for column in (1, 2, 3):
                    known = [gap for row in averaged if (gap := row.published[column]) is not None]
                    means.append(f"{statistics.fmean(known):.2f}" if known else "")
                lines += [f"| mean of {len(averaged)} {group} | | {' | '.join(means)} | |"]
        return "\n".join([*lines, ""])


def measure_variants(
    model: str | None = None,
    count: int | None = None,
    device: str = "auto",
    progress: Callable[[str, float], None] = lambda words, done: None,
) -> VariantTable:
    """Measure a model with greedy decoding and x8 augmentation; `check` judges every route.

    Parameters
    ----------
    model
        A shipped model or a folder. None: the shipped generalist.
    count
        Instances of each set; 1,000 if None.
    device
        "auto" (a GPU if there is one), or what PyTorch calls it.
    progress
        Called now and then with a description of the current work and the share of all work done.
    """
    from dynaroute.draw.ruled import list_rules

    chosen = choose_device(device)
    policy = load_policy(model or GENERALIST, chosen)
    known = [name for name in _PUBLISHED if set(list_rules((name,))) <= set(policy.config.rules)]
    if policy.config.rules == ():
        message = "the model knows no rules beyond capacity."
        raise OptionError.about("model", message, "Give one that was trained with --variants.")
    options = SolveOptions(model=policy, device=chosen, augment=True)
    planned = [(name, size) for place, size in enumerate(_SIZES) for name in known if _PUBLISHED[name][place]]
    entries = []
    for number, (name, size) in enumerate(planned):
        progress(f"{name}, n={size}", number / len(planned))
        instances = draw_variant_set(VARIANTS[name], size, count or VARIANT_SET_COUNT).instances()
        found = evaluate_all(instances, options, Observers(), None)
        entries.append(MeasuredVariant(name, size, found.mean_length, found.seconds_per_instance))
    progress("done", 1.0)
    skipped = tuple(name for name in _PUBLISHED if name not in known)
    called = policy.card.name or str(model or GENERALIST)
    return VariantTable(called, describe_hardware(chosen), count or VARIANT_SET_COUNT, tuple(entries), skipped)
