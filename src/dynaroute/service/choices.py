"""The options of one request, complete and within the limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dynaroute.errors import OptionError, Where
from dynaroute.solving.options import USUAL_TIME_LIMIT, Decode, Improve, SolveSettings

__all__ = ["Choices"]

_ORIENTATIONS = 8


@dataclass(frozen=True)
class Choices:
    """How one request is to be solved. Requests with equal choices can be solved together.

    Attributes
    ----------
    model, decode, samples, augment, improve, time_limit, seed
        As in `dynaroute.solving.options.SolveOptions`.
    """

    model: str = "auto"
    decode: Decode = "greedy"
    samples: int = 16
    augment: bool = False
    improve: Improve = "none"
    time_limit: float | None = None
    seed: int = 0

    @classmethod
    def from_options(cls, given: dict[str, Any], usual: Improve, longest: float) -> Choices:
        """Complete the options that were given.

        Parameters
        ----------
        given
            Fields of this class, those not given being left out.
        usual
            How to improve where neither that nor a time limit is given.
        longest
            Time limit that is allowed.
        """
        improve = given.get("improve") or ("search" if "time_limit" in given else usual)
        limit = given.get("time_limit")
        if limit is not None and improve != "search":
            raise _fault("time_limit", "only a search has a time limit.", "Leave it out, or use improve search.")
        if "samples" in given and given.get("decode", "greedy") == "greedy":
            raise _fault("samples", "greedy decoding builds one solution.", "Use decode sample or multistart.")
        if limit is not None and limit > longest:
            message = f"the time limit is {limit:g} s, above the largest allowed, {longest:g} s."
            raise _fault("time_limit", message, "Give less; POST /v1/jobs may allow more.")
        if improve == "search" and limit is None:
            limit = min(USUAL_TIME_LIMIT, longest)
        return cls(**{**given, "improve": improve, "time_limit": limit})

    @property
    def searches(self) -> bool:
        """Whether there is a search, which takes the time it is given."""
        return self.improve == "search"

    @property
    def attempts(self) -> int:
        """How many solutions the policy builds."""
        builds_many = self.decode != "greedy"
        return (self.samples if builds_many else 1) * (_ORIENTATIONS if self.augment else 1)

    def work(self, customers: int) -> int:
        """How much the policy has to do, as customers times solutions.

        Parameters
        ----------
        customers
            Of the instance.
        """
        return customers * self.attempts

    def refuse_excess(self, customers: int, most_work: int) -> None:
        """Refuse what would take too long to build.

        Parameters
        ----------
        customers
            Of the instance.
        most_work
            That is allowed.
        """
        if self.work(customers) <= most_work:
            return
        message = f"{self.attempts} solutions of {customers} customers are more work than is allowed."
        remedy = f"At most {max(1, most_work // customers)} solutions of this instance are built."
        raise _fault("samples" if self.decode != "greedy" else "augment", message, remedy)

    def settings(self, device: str) -> SolveSettings:
        """The keywords of `dynaroute.solve`.

        Parameters
        ----------
        device
            Where policies work.
        """
        return {
            "model": self.model,
            "decode": self.decode,
            "samples": self.samples,
            "augment": self.augment,
            "improve": self.improve,
            "time_limit": self.time_limit,
            "seed": self.seed,
            "device": device,
            "threads": 1,
        }


def _fault(field: str, message: str, remedy: str) -> OptionError:
    return OptionError(message, where=Where(field=field), remedy=remedy)
