"""The options on a policy, as a user gave them: what cannot go together is refused."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, cast

from dynaroute.cli.options import Decode
from dynaroute.errors import OptionError, Where

if TYPE_CHECKING:
    from dynaroute.solving.options import SolveSettings

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
            for option in self.decoding_options():
                raise _clash(option, "savings has no policy to decode.", "Leave the option out, or name a model.")
        elif self.model != "auto":
            from dynaroute.weights import find_model

            find_model(self.model)
        if self.samples is not None and self.decode in (None, "greedy"):
            raise _clash("--samples", "greedy decoding builds one solution.", "Add --decode sample or multistart.")
        if self.temperature is not None and self.decode != "sample":
            raise _clash("--temperature", "only samples have a temperature.", "Add --decode sample.")

    def decoding_options(self) -> list[str]:
        """The options that were given on how to decode."""
        given = {
            "--decode": self.decode is not None,
            "--samples": self.samples is not None,
            "--temperature": self.temperature is not None,
            "--augment": self.augment,
        }
        return [option for option, is_given in given.items() if is_given]

    def settings(self) -> SolveSettings:
        """The keywords of `dynaroute.solver.solve` for the options that were given; it knows the other defaults."""
        return cast("SolveSettings", {name: value for name, value in asdict(self).items() if value is not None})


def _clash(option: str, message: str, remedy: str) -> OptionError:
    return OptionError(message, where=Where(field=option), remedy=remedy)
