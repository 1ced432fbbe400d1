"""Figures to stand beside: means over the 10,000 published instances of each size, measured by others."""

from __future__ import annotations

__all__ = ["HGS_LENGTHS", "PAPER_BEST_LENGTHS", "PAPER_ROWS", "PAPER_TIMES", "PUBLISHED_COUNT", "SIZES"]

SIZES = (20, 50, 100)
PUBLISHED_COUNT = 10_000  # instances of each size, drawn at once

HGS_LENGTHS = {20: 6.130, 50: 10.366, 100: 15.563}  # hybrid genetic search, 2.5 days of one CPU
PAPER_BEST_LENGTHS = {20: 6.10, 50: 10.38, 100: 15.65}  # what the paper's gaps refer to: Gurobi, LKH3, LKH3

# Tables 1 and 2 of the paper; None where it has no entry.
PAPER_ROWS: dict[str, tuple[float | None, float | None, float | None]] = {
    "Gurobi": (6.10, None, None),
    "LKH3": (6.14, 10.38, 15.65),
    "RL (greedy)": (6.59, 11.39, 17.23),
    "AM (greedy)": (6.40, 10.98, 16.80),
    "AM-D (greedy)": (6.28, 10.78, 16.40),
    "AM-D (2OPT)": (6.25, 10.73, 16.27),
    "AM-D (n=20)": (None, 11.00, 17.37),
    "AM-D (n=50)": (6.48, None, 16.55),
    "AM-D (n=100)": (6.65, 11.04, None),
}
PAPER_TIMES = {
    "training": ("14 h", "58 h", "250 h"),
    "AM-D (greedy), an instance": ("0.29 ms", "2.51 ms", "15.92 ms"),
    "AM-D (2OPT), an instance": ("0.05 s", "0.34 s", "2.21 s"),
}
