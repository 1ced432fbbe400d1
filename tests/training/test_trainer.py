from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from policies import SMALL_AMD

from dynaroute.errors import OptionError
from dynaroute.model import Policy
from dynaroute.training.trainer import VALIDATION_SEED, Trainer, TrainingPlan, measure_greedy_length

PLAN = TrainingPlan(size=6, minutes=0.1, rate=3e-3, instances=16, samples=4, validations=3, validation_count=200)


def test_training_shortens_routes_and_keeps_the_best_policy(tmp_path: Path) -> None:
    policy = Policy(SMALL_AMD, generator=torch.Generator().manual_seed(1))
    before = measure_greedy_length(policy, 6, VALIDATION_SEED, 200)
    lines: list[dict[str, float]] = []
    best = Trainer(policy, PLAN, tmp_path, lines.append).run()
    assert best < 0.9 * before
    assert best == min(line["validation"] for line in lines)
    kept = Policy.from_pretrained(tmp_path)
    assert measure_greedy_length(kept, 6, VALIDATION_SEED, 200) == pytest.approx(best, abs=1e-6)
    written = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert written == lines


def test_card_adds_up_what_ancestors_took(tmp_path: Path) -> None:
    policy = Policy(SMALL_AMD, generator=torch.Generator().manual_seed(1))
    first = Trainer(policy, PLAN, tmp_path / "first", lambda line: None)
    first.step = 10
    policy.card = first._describe(trajectories=640, minutes=2.0)
    second = Trainer(policy, PLAN, tmp_path / "second", lambda line: None)
    card = second._describe(trajectories=60, minutes=1.0)
    assert (card.trajectories, card.minutes) == (700, 3.0)


def test_a_plan_without_minutes_is_refused() -> None:
    with pytest.raises(OptionError, match="minutes"):
        TrainingPlan(size=6, minutes=0)
