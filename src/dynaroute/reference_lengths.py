"""Published figures to compare with: on the paper's sets, and for generalisation."""

from __future__ import annotations

__all__ = [
    "GENERALISATION_ROWS",
    "GENERALISATION_SECONDS",
    "HGS_LENGTHS",
    "LARGE_SIZES",
    "LARGE_SIZE_LENGTHS",
    "PAPER_BEST_LENGTHS",
    "PAPER_ROWS",
    "PAPER_TIMES",
    "PUBLISHED_COUNT",
    "SIZES",
]

SIZES = (20, 50, 100)
PUBLISHED_COUNT = 10_000  # instances of each size, drawn at once

HGS_LENGTHS = {20: 6.130, 50: 10.366, 100: 15.563}  # hybrid genetic search, 2.5 days of one CPU
PAPER_BEST_LENGTHS = {20: 6.10, 50: 10.38, 100: 15.65}  # the baseline of the paper's gaps: Gurobi, LKH3, LKH3

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

LARGE_SIZES = (200, 500, 1000)  # published sets that no specialist was trained on
LARGE_SIZE_LENGTHS = {200: ("LKH3", 20.2648), 500: ("HGS", 36.561), 1000: ("HGS", 41.2)}

# One model trained at n <= 100, greedy; ReLD, ICAM and ELG take the best of up to 100 starts. X: instances below 1,000
# customers; those of 500 or more also have their own column.
GENERALISATION_ROWS: dict[str, dict[str, str]] = {
    "LKH3": {"U200": "20.265", "U500": "37.229"},
    "HGS": {"U500": "36.561", "U1000": "41.2"},
    "ReLD": {"X": "4.10 %", "X, n > 500": "5.04 %", "U500": "37.65 (x8)"},
    "ICAM": {"X": "5.00 %", "U500": "37.49", "U1000": "43.07"},
    "ELG": {"X": "8.03 %"},
    "BQ": {"X": "8.87 %"},
    "LEHD": {"X": "11.25 %", "U500": "38.41"},
    "INViT": {"X": "13.15 %"},
    "AM, x8": {"XML100": "8.73 %"},
}
GENERALISATION_SECONDS = {"ReLD": "0.41 s", "ICAM, ELG, BQ, LEHD, INViT": "0.4 to 4.7 s"}  # per X instance
