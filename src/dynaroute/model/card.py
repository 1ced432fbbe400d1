"""Model cards: saved with the weights, and shown by `dynaroute models`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dynaroute.base.errors import ModelError, Where

if TYPE_CHECKING:
    from dynaroute.model.config import PolicyConfig

__all__ = ["ModelCard"]


@dataclass(frozen=True)
class ModelCard:
    """How a model was trained, and how well it does.

    Attributes
    ----------
    name
        The model's name.
    size
        Number of customers of its training instances; the largest if sizes vary.
    smallest_size
        The smallest number of customers, if sizes vary.
    distribution
        The training instances in words; empty for the paper's distribution.
    capacity
        Capacity in training.
    recipe
        How it was trained, in a line or two.
    trajectories, minutes, hardware
        Cost of training, including the models it was trained from.
    greedy_lengths
        Mean greedy length on the 10,000 published instances, by number of customers.
    """

    name: str = ""
    size: int | None = None
    capacity: int | None = None
    recipe: str = ""
    trajectories: int | None = None
    minutes: float | None = None
    hardware: str = ""
    greedy_lengths: dict[str, float] = field(default_factory=dict)
    smallest_size: int | None = None
    distribution: str = ""

    def __post_init__(self) -> None:
        for name in ("name", "recipe", "hardware", "distribution"):
            if not isinstance(getattr(self, name), str):
                raise self._fault(name, "Give a string.")
        for name in ("size", "smallest_size", "capacity", "trajectories"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise self._fault(name, "Give a whole number above 0, or leave it out.")
        if self.minutes is not None and not _is_amount(self.minutes):
            raise self._fault("minutes", "Give a number, or leave it out.")
        if not isinstance(self.greedy_lengths, dict) or not all(map(_is_amount, self.greedy_lengths.values())):
            raise self._fault("greedy_lengths", "Give a length for each number of customers.")

    def _fault(self, field: str, remedy: str) -> ModelError:
        message = f"{field} is {getattr(self, field)!r}."
        return ModelError(message, where=Where(field=f"card.{field}"), remedy=remedy)

    def _describe_instances(self) -> str | None:
        if self.size is None:
            return None
        sizes = f"{self.smallest_size} to {self.size}" if self.smallest_size else f"{self.size}"
        what = self.distribution or f"capacity {self.capacity or 'various'}"
        return f"{sizes} customers, {what}"

    def to_markdown(self, config: PolicyConfig, weights_sha256: str | None = None, changed: str = "") -> str:
        """Format the card as a page.

        Parameters
        ----------
        config
            The policy's settings.
        weights_sha256
            Hash of the file of weights.
        changed
            What was changed in the policy after it was made.
        """
        facts = {
            "policy": config.describe(),
            "trained on": self._describe_instances(),
            "recipe": self.recipe or None,
            "trajectories": None if self.trajectories is None else f"{self.trajectories:,}",
            "minutes": None if self.minutes is None else f"{self.minutes:g} ({self.hardware})",
            "weights": None if weights_sha256 is None else f"SHA-256 {weights_sha256}",
        }
        lines = [f"# {self.name or 'A Dynaroute policy'}", ""]
        lines += [f"- {label}: {fact}" for label, fact in facts.items() if fact is not None]
        if self.greedy_lengths:
            lines += ["", "Greedy length on 10,000 instances of seed 1234:", "", "| customers | length |", "|---|---|"]
            lines += [f"| {size} | {length:.3f} |" for size, length in self.greedy_lengths.items()]
        how = "`dynaroute.Policy.from_pretrained(FOLDER)`, or by its name if it ships."
        if changed:
            how = f"`dynaroute.Policy.from_pretrained(FOLDER, policy=mine)`: the policy was changed ({changed})."
        lines += ["", f"Load it with {how}", ""]
        return "\n".join(lines)


def _is_amount(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < float("inf")  # type: ignore[operator]
