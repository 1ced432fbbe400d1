"""Names used in training plans. Light to import, for ``--help``."""

from __future__ import annotations

from typing import Literal

__all__ = ["BaselineName", "OptimiserName", "PolicyName", "RecipeName"]

RecipeName = Literal["fast", "paper", "am", "pomo"]
PolicyName = Literal["amd", "am", "rl"]
BaselineName = Literal["shared", "greedy", "rollout"]
OptimiserName = Literal["adam", "muon"]
