"""Comparing models and decodings on one set: a table on the screen, or as CSV, Markdown or LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynaroute.base.errors import OptionError
from dynaroute.solving.options import SolveOptions

if TYPE_CHECKING:
    from dynaroute.study.evaluation import Evaluation

SUFFIXES = (".csv", ".md", ".tex")

_DECODING = re.compile(r"(?:(greedy)|(sample|multistart|beam|sgbs)(?:\s+(\d+))?)?(?:(?:^|\s+)(x8))?")
_FIGURES = {  # heading and format of each figure
    "count": ("instances", "{:d}"),
    "mean_length": ("mean length", "{:.4f}"),
    "standard_error": ("standard error", "{:.4f}"),
    "gap": ("gap", "{:.4f}"),
    "mean_gap": ("mean gap, %", "{:.3f}"),
    "median_gap": ("median gap, %", "{:.3f}"),
    "worst_gap": ("worst gap, %", "{:.3f}"),
    "seconds_per_instance": ("seconds per instance", "{:.3g}"),
}


@dataclass(frozen=True)
class Compared:
    """One row of the comparison.

    Attributes
    ----------
    model, decoding
        The model and its decoding.
    evaluation
        The results.
    """

    model: str
    decoding: str
    evaluation: Evaluation

    def to_json(self) -> dict[str, int | float | str | None]:
        """Return the keys of ``evaluate --json``, with model and decoding."""
        return {**self.evaluation.to_json(), "model": self.model, "decoding": self.decoding}


def parse_decodings(text: str, options: SolveOptions) -> list[SolveOptions]:
    """Make options for each decoding in a comma-separated list.

    Parameters
    ----------
    text
        A list such as ``greedy, greedy x8, sample 16``.
    options
        All other options.

    Raises
    ------
    OptionError
        If one is not a decoding, or the options already set the decoding.
    """
    if options.given_decoding:
        name = next(iter(options.given_decoding))
        message = f"--{name} cannot be combined with --decodings."
        raise OptionError.about(name, message, "Put it into --decodings.")
    found = []
    for part in text.split(","):
        words = _DECODING.fullmatch(part.strip())
        if words is None or not part.strip():
            raise OptionError.about(
                "decodings",
                f"{part.strip()!r} is not a decoding.",
                "Write greedy, sample 16, multistart 8, beam 4 or sgbs 16, each optionally with x8, and commas.",
            )
        greedy, sampled, count, turned = words.groups()
        decode: Any = greedy or sampled or "greedy"
        samples = None if count is None else int(count)
        found.append(replace(options, decode=decode, samples=samples, augment=turned is not None))
    return found


def list_rows(compared: Sequence[Compared]) -> list[list[str]]:
    """Return headings and rows; figures that no row has are left out."""
    documents = [row.to_json() for row in compared]
    names = [name for name in _FIGURES if any(document.get(name) is not None for document in documents)]
    rows = [["model", "decoding", *(_FIGURES[name][0] for name in names)]]
    for document in documents:
        values = [document.get(name) for name in names]
        pairs = zip(names, values, strict=True)
        figures = ["" if value is None else _FIGURES[name][1].format(value) for name, value in pairs]
        rows.append([str(document["model"]), str(document["decoding"]), *figures])
    return rows


def format_comparison(compared: Sequence[Compared], suffix: str) -> str:
    """Format the table for a file of this suffix."""
    rows = list_rows(compared)
    if suffix == ".csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue()
    if suffix == ".md":
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        return "\n".join([lines[0], "|---|---" + "|---:" * (len(rows[0]) - 2) + "|", *lines[1:]]) + "\n"
    cells = [" & ".join(map(_escape, row)) + r" \\" for row in rows]
    columns = "ll" + "r" * (len(rows[0]) - 2)
    rule, end = r"\hline", r"\end{tabular}"
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", rule, cells[0], rule, *cells[1:], rule, end]) + "\n"


def _escape(text: str) -> str:
    """Escape a cell for LaTeX."""
    named = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(named.get(letter, f"\\{letter}" if letter in "&%$#_{}" else letter) for letter in text)


def require_table(path: Path) -> str:
    """Return the suffix of a table's file, or raise if it cannot be written."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise OptionError.about("out", f"the suffix {suffix!r} is not one for tables.", f"Use {', '.join(SUFFIXES)}.")
    return suffix
