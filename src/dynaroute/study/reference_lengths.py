"""Published figures to compare with: on the paper's sets, and for generalisation."""

from __future__ import annotations

SIZES = (20, 50, 100)
PUBLISHED_COUNT = 10_000  # instances of each size, drawn at once

HGS_LENGTHS = {20: 6.130, 50: 10.366, 100: 15.563}  # hybrid genetic search, 2.5 days of one CPU
PAPER_BEST_LENGTHS = {20: 6.10, 50: 10.38, 100: 15.65}  # the baseline of the paper's gaps: Gurobi, LKH3, LKH3

# Tables 1 and 2 of the paper: length and gap as it prints them, by size. Six of its gaps are not those of its lengths.
PAPER_ROWS: dict[str, dict[int, tuple[float, float]]] = {
    "Gurobi": {20: (6.10, 0.00)},
    "LKH3": {20: (6.14, 0.58), 50: (10.38, 0.00), 100: (15.65, 0.00)},
    "RL (greedy)": {20: (6.59, 8.03), 50: (11.39, 9.78), 100: (17.23, 10.12)},
    "AM (greedy)": {20: (6.40, 4.97), 50: (10.98, 5.86), 100: (16.80, 7.34)},
    "AM-D (greedy)": {20: (6.28, 2.95), 50: (10.78, 3.85), 100: (16.40, 4.79)},
    "AM-D (2OPT)": {20: (6.25, 2.46), 50: (10.73, 3.37), 100: (16.27, 3.96)},
    "AM-D (n=20)": {50: (11.00, 5.97), 100: (17.37, 10.99)},
    "AM-D (n=50)": {20: (6.48, 6.23), 100: (16.55, 5.75)},
    "AM-D (n=100)": {20: (6.65, 9.02), 50: (11.04, 6.36)},
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
