"""A stage of a training plan: which instances, and how large a step is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dynaroute.base.errors import OptionError
from dynaroute.draw.distribution import Distribution
from dynaroute.draw.toml_tables import require_amount, require_count
from dynaroute.training.plan.own_instances import InstanceFiles

__all__ = ["Stage"]


@dataclass(frozen=True)
class Stage:
    """A part of a run: instances of one size, of a distribution, or from files.

    Attributes
    ----------
    size
        Number of customers; the largest if sizes vary.
    capacities
        Capacities; each instance gets one of them at random, validation uses the first. None if instances come from a
        distribution or from files.
    instances, samples
        Instances per update and process, and solutions sampled per instance.
    replayed
        Solutions per instance that the policy learns from: those whose lengths differ most from their mean. None: all
        samples. A few of many are nearly as instructive as all of them, and gradients take most of the time.
    rate
        Peak learning rate.
    share
        Share of the budget, relative to the other stages.
    entropy
        Weight of the entropy bonus, in units of the advantages (with a shared baseline, standard deviations of the
        samples' lengths). Above 0 it keeps the policy exploring. If sizes vary, it is the weight for the largest
        instances, and smaller ones have a larger weight (`dynaroute.training.step.entropy`).
    size_weight
        How much more large instances count: an instance of n customers counts (n / 100) ^ size_weight times
        (`dynaroute.training.step.importance`).
    distribution
        Distribution of instances; None for the paper's at this size.
    data
        Files with instances to train on instead of random ones.
    """

    size: int
    capacities: tuple[int, ...]
    instances: int
    samples: int
    rate: float
    share: float = 1.0
    entropy: float = 0.0
    distribution: Distribution | None = None
    data: InstanceFiles | None = None
    replayed: int | None = None
    size_weight: float = 0.0

    @property
    def replayed_samples(self) -> int:
        """Solutions per instance that the policy learns from."""
        return self.samples if self.replayed is None else self.replayed

    @property
    def lengths_differ(self) -> bool:
        """Whether instances vary in size or kind, so that only relative lengths are comparable."""
        return self.distribution is not None or self.data is not None

    @property
    def title(self) -> str:
        """Short name of the training instances."""
        if self.distribution is not None:
            return f"{self.distribution.name or 'mixed'}, n={self.distribution.smallest} to {self.size}"
        return f"n={self.size}" if self.data is None else f"own instances, up to n={self.size}"

    @property
    def settings(self) -> str:
        """How it is trained on, in short."""
        chosen = "" if self.replayed is None else f" of which {self.replayed} replayed"
        weighed = f", size weight {self.size_weight:g}" if self.size_weight else ""
        return f"{self.instances} x {self.samples}{chosen}, rate {self.rate:g}, entropy {self.entropy:g}{weighed}"

    def describe(self) -> str:
        """Describe the training instances."""
        return self.title if self.distribution is None else self.distribution.describe()

    def __post_init__(self) -> None:
        for field in ("size", "instances", "samples"):
            require_count(field, getattr(self, field))
        for field in ("rate", "share"):
            require_amount(field, getattr(self, field))
        for field in ("entropy", "size_weight"):
            value = getattr(self, field)
            if type(value) not in (int, float) or not 0 <= value < math.inf:
                raise OptionError.about(field, f"{field} is {value!r}.", "Give a number of 0 or more.")
        if self.replayed is not None:
            require_count("replayed", self.replayed)
            if self.replayed > self.samples:
                message = f"{self.replayed} of {self.samples} samples cannot be replayed."
                raise OptionError.about("replayed", message, f"Give at most {self.samples}.")
        if self.entropy > 0 and self.replayed_samples < 2:
            field = "samples" if self.replayed is None else "replayed"
            message = "entropy needs several samples per instance."
            raise OptionError.about(field, message, "Give 2 or more, or entropy 0.")
        if self.lengths_differ:
            self._require_one_source()
            return
        if not self.capacities:
            raise OptionError.about("capacities", "there is no capacity.", "Give at least one.")
        for capacity in self.capacities:
            if type(capacity) is not int or capacity < 9:
                raise OptionError.about(
                    "capacities", f"a capacity is {capacity!r}.", "Demands go up to 9: give 9 or more."
                )

    def _require_one_source(self) -> None:
        if self.distribution is not None and self.data is not None:
            raise OptionError.about("data", "a stage has both a distribution and data.", "Leave one of them out.")
        if self.capacities:
            message = "the distribution or the instances already determine the capacities."
            raise OptionError.about("capacities", message, "Leave them out here.")
        if self.distribution is not None and self.size != self.distribution.largest:
            message = f"the size is {self.size}, but the distribution's largest is {self.distribution.largest}."
            raise OptionError.about("size", message, "Leave it out.")
