"""The options on a policy, as a user gave them: what cannot go together is refused, what is void is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, cast

from dynaroute.cli.options import Decode
from dynaroute.cli.output import print_note
from dynaroute.errors import OptionError, Where

if TYPE_CHECKING:
    from dynaroute.solver import SolveSettings

__all__ = ["PolicyOptions"]


@dataclass(frozen=True)
class PolicyOptions:
    """Which policy decodes, and how; None stands for an option that was not given.

    Parameters
    ----------
    model
        auto, savings, a shipped model's name, or a folder.
    decode, samples, temperature, augment, seed, device
        As in `dynaroute.solver.SolveOptions`.

    Raises
    ------
    OptionError
        If an option would have to be disobeyed because of another.
    ModelError
        If there is no such model.
    """

    model: str
    decode: Decode | None = None
    samples: int | None = None
    temperature: float | None = None
    augment: bool = False
    seed: int | None = None
    device: str | None = None

    def __post_init__(self) -> None:
        if self.model == "savings":
            self._refuse_decoding()
        elif self.model != "auto":
            from dynaroute.weights import find_model

            find_model(self.model)
        if self.samples is not None and self.decode in (None, "greedy"):
            raise _clash("--samples", "greedy decoding builds one solution.", "Add --decode sample or multistart.")
        if self.temperature is not None and self.decode != "sample":
            raise _clash("--temperature", "only samples have a temperature.", "Add --decode sample.")

    def _refuse_decoding(self) -> None:
        given = {
            "--decode": self.decode is not None,
            "--samples": self.samples is not None,
            "--temperature": self.temperature is not None,
            "--augment": self.augment,
        }
        for option, is_given in given.items():
            if is_given:
                raise _clash(option, "savings has no policy to decode.", "Leave the option out, or name a model.")

    def settings(self, progress: Callable[[int], None]) -> SolveSettings:
        """The keywords of `dynaroute.solver.solve` for the options that were given; it knows the other defaults.

        Parameters
        ----------
        progress
            Called with the number of instances finished since the last call.
        """
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return cast("SolveSettings", {**given, "progress": progress})

    def print_void(self) -> None:
        """Name the options that were given and change nothing."""
        if self.seed is not None and self.decode != "sample":
            print_note("--seed changes nothing: only --decode sample draws at random.")
        if self.device is not None and self.model == "savings":
            print_note("--device changes nothing: savings runs on the CPU.")


def _clash(option: str, message: str, remedy: str) -> OptionError:
    return OptionError(message, where=Where(field=option), remedy=remedy)
