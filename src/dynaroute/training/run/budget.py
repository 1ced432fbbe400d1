"""How much of its budget a run has spent."""

from __future__ import annotations

from dataclasses import dataclass

from dynaroute.training.plan.plan import TrainingPlan

__all__ = ["Budget"]


@dataclass
class Budget:
    """The budget of a run, in updates or in minutes, which include the validations after the last update.

    Attributes
    ----------
    plan
        The plan of the run.
    closing
        Seconds that the validations at the end will take, as far as is known.
    """

    plan: TrainingPlan
    closing: float = 0.0

    def note_validation(self, seconds: float) -> None:
        """Learn from a validation how long those at the end will take: of the policy, and of its mean."""
        self.closing = seconds * (2 if self.plan.averaged else 1)

    def find_spent(self, step: int, seconds: float) -> float:
        """Return the share that is spent, from 0; 1 ends the run.

        Parameters
        ----------
        step, seconds
            Updates done, and seconds since the run began.
        """
        updates = self.plan.all_updates
        if updates is not None:
            return step / updates
        return (seconds + self.closing) / self._all_seconds

    def find_rest(self, seconds: float) -> float:
        """Return the seconds that are left of a budget in minutes; 0 in updates."""
        return 0.0 if self.plan.minutes is None else max(0.0, self._all_seconds - seconds)

    @property
    def _all_seconds(self) -> float:
        assert self.plan.minutes is not None
        return 60.0 * self.plan.minutes
