"""Fields that ask for more than is solved here, told from those that only describe."""

from __future__ import annotations

import re

__all__ = ["UNSUPPORTED", "is_unsupported", "is_unsupported_for_vehicles"]

UNSUPPORTED = (
    "costs of vehicles, prizes, optional customers, several windows, pickups, several depots, breaks and reloading are "
    "not solved here"
)

# A field with one of these words narrows what a solution may be, or changes what it costs.
_CONSTRAINT = re.compile(
    r"vehicles?|trucks?|fleet|drones?|drivers?|salesm[ae]n|depots|routes?|trips?"
    r"|distances?|durations?|times?|timewindows?|windows?|ready|due|deadlines?|horizon|periods?|shifts?|breaks?"
    r"|earliest|latest|release|standtime|speeds?|service|servicetime|handling|unloading"
    r"|pickups?|delivery|deliveries|backhauls?|linehauls?|precedences?|skills?|compatibility|compartments?"
    r"|commodity|commodities|battery|energy|fuel|charging|stations?"
    r"|prizes?|profits?|penalty|penalties|priority|priorities|optional|clusters?"
    r"|max|maximum|min|minimum|limits?|open|split|fixed|forbidden|metric"
)
_OF_VEHICLES = re.compile(
    r"costs?|prices?|fees?|wages?|rates?|reloads?|refills?|start|starts|depot|home|volumes?|weights?|km"
)
_DESCRIPTION = re.compile(r"best|known|bks|optimal|optimum|bound|comment|note")


def is_unsupported(field: str) -> bool:
    """Whether a field, named in any style, asks for something that is not solved: a limit, a time, a second depot."""
    words = _split_words(field)
    return any(map(_CONSTRAINT.fullmatch, words)) and not any(map(_DESCRIPTION.fullmatch, words))


def is_unsupported_for_vehicles(field: str) -> bool:
    """Whether a field of a vehicle asks for something that is not solved: what it costs, where it starts."""
    return any(map(_OF_VEHICLES.fullmatch, _split_words(field)))


def _split_words(field: str) -> list[str]:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", field)
    return re.findall(r"[a-z]+", spaced.lower())
