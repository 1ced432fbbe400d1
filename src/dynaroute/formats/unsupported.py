"""Recognising fields that ask for something unsupported, as opposed to descriptions."""

from __future__ import annotations

import re

__all__ = ["UNSUPPORTED", "is_unsupported", "is_unsupported_for_vehicles", "split_words"]

UNSUPPORTED = (
    "vehicle costs, prizes, optional customers, several windows, pickups, several depots, breaks and reloading are "
    "not supported"
)

# A field with one of these words restricts routes or changes their cost.
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
    """Whether a field, in any naming style, asks for something unsupported, such as a second depot."""
    words = split_words(field)
    return any(map(_CONSTRAINT.fullmatch, words)) and not any(map(_DESCRIPTION.fullmatch, words))


def is_unsupported_for_vehicles(field: str) -> bool:
    """Whether a vehicle's field asks for something unsupported, such as a cost or a start."""
    return any(map(_OF_VEHICLES.fullmatch, split_words(field)))


def split_words(field: str) -> list[str]:
    """Split a field in any naming style into lower-case words."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", field)
    return re.findall(r"[a-z]+", spaced.lower())
