"""The words of a training plan, light to import: ``--help`` reads them."""

from __future__ import annotations

from typing import Literal

__all__ = ["BaselineName", "OptimiserName", "PolicyName", "RecipeName"]

RecipeName = Literal["fast", "paper", "am", "pomo"]
PolicyName = Literal["amd", "am", "rl"]
BaselineName = Literal["shared", "greedy", "rollout"]
OptimiserName = Literal["adam", "muon"]
