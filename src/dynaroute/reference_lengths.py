"""Lengths to stand beside: means over the 10,000 published instances of each size, by others."""

from __future__ import annotations

__all__ = ["HGS_LENGTHS", "PAPER_BEST_LENGTHS"]

HGS_LENGTHS = {20: 6.130, 50: 10.366, 100: 15.563}  # hybrid genetic search, 2.5 days of one CPU
PAPER_BEST_LENGTHS = {20: 6.10, 50: 10.38, 100: 15.65}  # what the paper's gaps refer to: Gurobi, LKH3, LKH3
