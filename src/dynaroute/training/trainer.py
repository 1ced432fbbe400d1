"""Training a policy for a number of minutes: steps, a falling rate, and the best weights on the validation set."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from dynaroute.batch import InstanceBatch
from dynaroute.construct import Greedy, construct
from dynaroute.distributions import draw_published_set, usual_capacity
from dynaroute.errors import OptionError, Where
from dynaroute.model import ModelCard, Policy
from dynaroute.training.instances import TrainingTask
from dynaroute.training.reinforce import train_step
from dynaroute.training.schedule import Schedule
from dynaroute.training.update import GraphedUpdate, PolicyUpdate

__all__ = ["Trainer", "TrainingPlan", "measure_greedy_length"]

VALIDATION_SEED = 4321


@dataclass(frozen=True)
class TrainingPlan:
    """What to train, on what, for how long.

    Attributes
    ----------
    size
        Customers of the training instances; the capacity is the usual one for it.
    minutes
        Budget, compiling and validation included.
    rate
        Peak learning rate.
    instances, samples
        Instances of a step, and solutions sampled of each.
    validations, validation_count
        How many times the greedy length is measured along the way, and on how many instances.
    seed
        Of instances and samples.
    """

    size: int
    minutes: float
    rate: float = 5e-4
    instances: int = 128
    samples: int = 8
    validations: int = 10
    validation_count: int = 10_000
    seed: int = 1

    def __post_init__(self) -> None:
        for field in ("size", "minutes", "instances", "samples", "validations", "validation_count"):
            if not getattr(self, field) > 0:
                raise OptionError(f"{field} is {getattr(self, field)}.", where=Where(field=field), remedy="Give more.")


class Trainer:
    """Trains a policy; the best one so far on the validation set is in its folder at any time.

    Parameters
    ----------
    policy
        Where to start; it is changed.
    plan
        What to do.
    out
        Folder for the best policy and `metrics.jsonl`.
    report
        Called with each line of metrics.
    """

    def __init__(
        self, policy: Policy, plan: TrainingPlan, out: Path, report: Callable[[dict[str, float]], None]
    ) -> None:
        on_gpu = policy.device.type == "cuda"
        self.policy, self.plan, self.out, self.report = policy, plan, out, report
        self.ancestor = policy.card
        self.task = TrainingTask(plan.size, usual_capacity(plan.size))
        self.schedule = Schedule(plan.rate)
        self.rate = torch.tensor(plan.rate, device=policy.device)  # a tensor, since recorded steps read it anew
        optimiser = torch.optim.Adam(policy.parameters(), lr=self.rate, fused=on_gpu, capturable=on_gpu)
        plain = PolicyUpdate(policy, optimiser, torch.bfloat16 if on_gpu else torch.float32)
        self.update = GraphedUpdate(plain) if on_gpu else plain
        self.generator = torch.Generator(policy.device).manual_seed(plan.seed)
        self.step = 0
        self.best_length = float("inf")

    def run(self) -> float:
        """Train until the minutes are spent; returns the best validation length."""
        began = time.perf_counter()
        budget = 60.0 * self.plan.minutes
        self.out.mkdir(parents=True, exist_ok=True)
        validated = 0
        self.validate(0.0)
        while (spent := (time.perf_counter() - began) / budget) < 1.0:
            self.rate.fill_(self.schedule.rate(spent))
            train_step(
                self.policy,
                self.update,
                self.task,
                self.plan.instances,
                self.plan.samples,
                self.generator,
                self.step,
            )
            self.step += 1
            if int(spent * self.plan.validations) > validated:
                validated = int(spent * self.plan.validations)
                self.validate(time.perf_counter() - began)
        self.validate(time.perf_counter() - began)
        return self.best_length

    def validate(self, seconds: float) -> None:
        """Measure the greedy length, write it down, and keep the policy if it is the best so far."""
        length = measure_greedy_length(self.policy, self.plan.size, VALIDATION_SEED, self.plan.validation_count)
        trajectories = self.step * self.plan.instances * self.plan.samples
        line = {
            "step": self.step,
            "trajectories": trajectories,
            "minutes": round(seconds / 60, 3),
            "rate": float(self.rate),
            "validation": length,
        }
        with (self.out / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.report(line)
        if length < self.best_length:
            self.best_length = length
            self.policy.card = self._describe(trajectories, seconds / 60)
            self.policy.save_pretrained(self.out)

    def _describe(self, trajectories: int, minutes: float) -> ModelCard:
        before, plan = self.ancestor, self.plan
        hardware = torch.cuda.get_device_name() if self.policy.device.type == "cuda" else "CPU"
        batch = f"{plan.instances} instances x {plan.samples} samples"
        recipe = f"n={plan.size}: REINFORCE, shared baseline, {batch}, Adam {plan.rate:g}"
        return replace(
            before,
            name=f"amd-{plan.size}",
            size=plan.size,
            capacity=self.task.capacity,
            recipe=f"{before.recipe}; then {recipe}" if before.recipe else recipe,
            trajectories=(before.trajectories or 0) + trajectories or None,
            minutes=round((before.minutes or 0.0) + minutes, 2) or None,
            hardware=hardware,
        )


def measure_greedy_length(policy: Policy, size: int, seed: int, count: int = 10_000) -> float:
    """Mean greedy length on instances drawn as the published sets are.

    Parameters
    ----------
    policy
        The policy.
    size
        Customers.
    seed
        4321 is the validation set, 1234 the test set.
    count
        How many instances; the published sets have 10,000.
    """
    drawn = draw_published_set(size, count, seed)
    batch = InstanceBatch.from_arrays(drawn.depot, drawn.locations, drawn.demands, drawn.capacity).to(policy.device)
    policy.eval()
    length = construct(policy, batch, Greedy()).lengths(batch).mean()
    policy.train()
    return float(length)
