"""What declares an option: its description and limits, stated once. Quick to import, for ``--help``."""

from __future__ import annotations

import math
from dataclasses import Field, dataclass
from numbers import Integral
from typing import Any, Literal

from dynaroute.base.decimals import is_finite_number, show_number
from dynaroute.base.errors import OptionError


@dataclass(frozen=True)
class Declaration:
    """Description and limits of an option.

    Attributes
    ----------
    about
        What it affects: the policy that builds the first routes, or their improvement.
    help
        What it does, in one line.
    metavar
        What stands for its value in the help of a command; None: a command cannot have it, or it has no value.
    expected
        What to give instead of an invalid value.
    choices, noun
        The allowed words, and what they are called.
    least, most, above
        Limits of a number: the smallest and largest allowed value, or a bound it must exceed.
    """

    about: Literal["policy", "improvement"]
    help: str
    metavar: str | None = None
    expected: str = ""
    choices: tuple[str, ...] = ()
    noun: str = ""
    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf

    def refuse_wrong(self, entry: Field[Any], value: object) -> None:
        """Raise if the value is not one of the choices, or not a number within the limits."""
        if self.choices and value not in self.choices:
            raise OptionError.about(
                entry.name, f"there is no {self.noun} {value!r}.", f"Use {', '.join(self.choices)}."
            )
        if self.expected and not (_is_number(value, entry) and self._allows(value)):
            words = entry.name.replace("_", " ")
            subject = words if words.endswith("s") else f"the {words}"
            raise OptionError.about(entry.name, f"{subject} is {show_number(value)}.", f"Give {self.expected}.")

    def _allows(self, number: Any) -> bool:
        return bool(self.least <= number <= self.most and number > self.above)


def _is_number(value: object, entry: Field[Any]) -> bool:
    """Whether it is a number of the field's type, finite, and not a bool."""
    if str(entry.type).startswith("int"):
        return isinstance(value, Integral) and not isinstance(value, bool)
    return is_finite_number(value)
