"""Recognising what a file asks for that Dynaroute does not plan, such as breaks, by a heading and the values below it.

Headings are in English, German, French and Spanish. What only describes a stop or a vehicle is not recognised here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

from dynaroute.base.errors import UnsupportedError, Where
from dynaroute.formats.tables.cells.units import find_unit
from dynaroute.formats.tables.words import STOPS, is_depot, read_truth, simplify, spell
from dynaroute.formats.text import shorten
from dynaroute.formats.unsupported_words import (
    ARRIVALS,
    DESCRIPTIVE,
    KINDS_OF_STOPS,
    NOTHING,
    NUMBERING,
    OF_ALL,
    OF_PROBLEMS,
    OF_STOPS,
    OF_VEHICLES,
    TIMES,
    VALUES_OF_KINDS,
    WINDOWS,
    Kind,
    Values,
)

UNSUPPORTED = (
    "vehicle costs, prizes, optional customers, several windows, pickups, several depots, breaks and reloading are "
    "not supported"
)
_MOST_NAMED = 8  # requests in one error
_MOST_KINDS = 50  # values of a column that tells kinds of stops apart; more are names or numbers

Owner = Literal["problem", "stops", "vehicles"]  # whose heading or key it is


class Request(NamedTuple):
    """Something that a file asks for.

    Attributes
    ----------
    heading
        The column or key.
    what
        What it looks like, with an article: "a break".
    hint
        One sentence that says how to have it planned; "" if that is not possible.
    role
        The meaning of a column of stops that it could have instead, such as "window"; "" if there is none.
    """

    heading: str
    what: str
    hint: str = ""
    role: str = ""


_NOTHING = frozenset(NOTHING.split(", "))
_KINDS: dict[Owner, tuple[Kind, ...]] = {"problem": OF_PROBLEMS, "stops": OF_STOPS, "vehicles": OF_VEHICLES}
_LOADS = frozenset(("weight", "pounds", "volume", "pieces", "pallets", "boxes"))
_CLOCK = re.compile(r"\b[0-9]{1,2}(?::[0-9]{2}|\s*(?:uhr|h|am|pm)\b)", re.IGNORECASE)
_MONEY = re.compile(r"[€$£¥]")
_DIGIT = re.compile(r"[0-9]")
_PLAIN_NUMBER = re.compile(r"\s*[0-9]+(?:[.,][0-9]+)?\s*")
_DIGIT_ABOVE_0 = re.compile(r"[1-9]")

# A field of a format for programs with one of these words restricts routes or changes their cost.
_CONSTRAINT = re.compile(
    r"vehicles?|trucks?|fleet|agents?|drones?|drivers?|salesm[ae]n|depots|routes?|trips?"
    r"|distances?|durations?|times?|timewindows?|windows?|ready|due|deadlines?|horizon|periods?|shifts?|breaks?"
    r"|earliest|latest|release|standtime|speeds?|service|servicetime|handling|unloading"
    r"|pickups?|delivery|deliveries|backhauls?|linehauls?|precedences?|skills?|compatibility|compartments?"
    r"|commodity|commodities|battery|energy|fuel|charging|stations?"
    r"|prizes?|profits?|penalty|penalties|priority|priorities|optional|clusters?"
    r"|max|maximum|min|minimum|limits?|open|split|fixed|forbidden|metric"
)
_CONSTRAINT_OF_VEHICLES = re.compile(
    r"costs?|prices?|fees?|wages?|rates?|reloads?|refills?|start|starts|depot|home|volumes?|weights?|km"
)
_DESCRIPTION = re.compile(r"best|known|bks|optimal|optimum|bound|comment|note")


def is_unsupported(field: str) -> bool:
    """Whether a program's field, in any naming style, asks for something unsupported, such as a second depot."""
    words = split_words(field)
    return any(map(_CONSTRAINT.fullmatch, words)) and not any(map(_DESCRIPTION.fullmatch, words))


def is_unsupported_for_vehicles(field: str) -> bool:
    """Whether a program's field of a vehicle asks for something unsupported, such as a cost or a start."""
    return any(map(_CONSTRAINT_OF_VEHICLES.fullmatch, split_words(field)))


def is_descriptive(heading: str) -> bool:
    """Whether a column only describes a stop, such as a telephone number."""
    return bool(_compile(DESCRIPTIVE).search(_separate_digits(heading)))


def find_request(heading: str, texts: Sequence[str], owner: Owner) -> Request | None:
    """Find out what a column or key that is not used asks for; None if it only describes something.

    Parameters
    ----------
    heading
        The heading or key.
    texts
        Its values; those of stops begin with the depot's.
    owner
        Whose column it is.
    """
    if not any(texts):
        return None
    simple = _separate_digits(heading)
    if is_descriptive(heading):
        return None
    if owner == "stops" and _compile(KINDS_OF_STOPS).search(simple):
        distinct = set(texts)
        values = {simplify(text) for text in distinct} if len(distinct) <= _MOST_KINDS else set()
        for what, words in VALUES_OF_KINDS:
            if any(map(_compile(words).fullmatch, values)):
                return Request(heading, what)
    if owner == "stops" and (time := _find_time(heading, simple, texts)):
        return time
    compared = texts[1:] if owner == "stops" else texts
    for kind in (*OF_ALL, *_KINDS[owner]):
        is_meant = _compile(kind.words).search(simple) or _compile(kind.whole).fullmatch(_DIGIT.sub("", simple).strip())
        if is_meant and _is_asked(kind.values, texts, compared):
            return Request(heading, kind.what, kind.hint)
    if owner == "vehicles" and _MONEY.search(heading) and holds_number(texts):
        return Request(heading, "a cost of vehicles")
    return None


def find_load(heading: str, texts: Sequence[str]) -> Request | None:
    """Find out whether a column or key of stops beside their demands is a second load, such as pallets."""
    meaning, unit = STOPS.look_up(_DIGIT.sub(" ", heading)), find_unit(heading)  # "demand 2" is a demand, too
    is_load = (meaning is not None and meaning.role == "demand" and meaning.tier < 2) or (
        meaning is None and unit is not None and unit.family in _LOADS
    )
    split = STOPS.split_dimension(heading)
    is_amount = split is not None and split[0].role == "demand" and _holds_only_numbers(texts)
    return Request(heading, "a second load") if is_amount or (is_load and holds_number(texts)) else None


def _holds_only_numbers(texts: Sequence[str]) -> bool:
    """Whether all cells that are filled are plain numbers, at least one of them above 0."""
    return holds_number(texts) and all(map(_PLAIN_NUMBER.fullmatch, filter(None, texts)))


def _find_time(heading: str, simple: str, texts: Sequence[str]) -> Request | None:
    """Find a time window or a service time beyond those that are used: "window 2", "Fenster nachmittags"."""
    plain = " ".join(_compile(NUMBERING).sub(" ", _DIGIT.sub(" ", simple)).split())
    meaning = STOPS.look_up(plain) if plain else None
    role = "" if meaning is None else meaning.role
    is_clear = meaning is not None and meaning.tier < 2
    has_times = holds_number(texts) if is_clear else holds_clock_times(texts)
    if role in ("window", "earliest", "latest") and has_times:
        return Request(heading, "a time window", role=role)
    if role == "service" and has_times:
        return Request(heading, "a further time at a stop")
    if _compile(WINDOWS).search(simple) and holds_number(texts):
        return Request(heading, "a time window", role="window")
    is_arrival = _compile(ARRIVALS).search(simple) or _compile(TIMES).fullmatch(plain)
    if is_arrival and holds_clock_times(texts):
        return Request(heading, "a time window", role="window")
    return None


def refuse_requests(requests: Sequence[Request], where: Where) -> None:
    """Raise if there is any request.

    Parameters
    ----------
    requests
        All of a file.
    where
        Place of the first.
    """
    if not requests:
        return
    unknown = [request for request in requests if not request.hint]
    told = [f"{_quote(request)} looks like {request.what}" for request in unknown[:_MOST_NAMED]]
    if len(unknown) > _MOST_NAMED:
        told.append(f"{len(unknown) - _MOST_NAMED} more look alike")
    sentences = [f"{', '.join(told)}, which {'is' if len(told) == 1 else 'are'} not supported."] if told else []
    sentences += [
        f"{_quote(request)} looks like {request.what}, which is not supported under this name."
        for request in requests
        if request.hint
    ][:_MOST_NAMED]
    hints = dict.fromkeys(request.hint for request in requests if request.hint)
    names = tuple(dict.fromkeys(request.heading for request in requests))
    raise UnsupportedError(" ".join(sentences), where=where, names=names, remedy=" ".join(hints))


def says_something(texts: Sequence[str]) -> bool:
    """Whether a value is neither blank, nor 0, nor a word such as no, none or any."""
    return any(map(_is_value, dict.fromkeys(texts)))


def holds_number(texts: Sequence[str]) -> bool:
    """Whether a value contains a number above 0."""
    return any(map(_DIGIT_ABOVE_0.search, texts))


def holds_clock_times(texts: Sequence[str]) -> bool:
    """Whether most values are clock times, like those of time windows."""
    filled = [text for text in texts if text]
    return 2 * sum(bool(_CLOCK.search(text)) for text in filled) > len(filled)


def _is_value(text: str) -> bool:
    simple = simplify(text)
    if _DIGIT.search(text):
        return bool(_DIGIT_ABOVE_0.search(text))
    return bool(simple) and read_truth(text) is not False and simple not in _NOTHING


def _is_asked(values: Values, texts: Sequence[str], compared: Sequence[str]) -> bool:
    """Whether the values ask for what the heading says; some kinds compare the values with each other."""
    if values == "something":
        return says_something(texts)
    if values == "number":
        return holds_number(texts) or any(read_truth(text) for text in texts)
    if values == "different":
        return len(set(map(simplify, compared))) > 1 and says_something(compared)
    if values == "several":
        return any(_is_value(text) and simplify(text) not in ("1", "once") for text in texts)
    if values == "elsewhere":
        return any(_is_value(text) and not is_depot(text) for text in texts)
    return any(text.strip() and read_truth(text) is False for text in texts)


def _quote(request: Request) -> str:
    return shorten(request.heading)


def _separate_digits(heading: str) -> str:
    """Simplify a heading, with spaces between letters and numbers: window2 becomes window 2."""
    return re.sub(r"(?<=[a-z])(?=[0-9])|(?<=[0-9])(?=[a-z])", " ", simplify(heading))


@cache
def _compile(words: str) -> re.Pattern[str]:
    """Compile words, in which a star stands for any letters, to a pattern for simplified headings."""
    spellings = {
        r"\w*".join(simplify(part) for part in spelling.split("*"))
        for word in re.split(r"[,/]", words)
        for spelling in spell(word)
        if word.strip()
    }
    return re.compile(rf"\b(?:{'|'.join(sorted(spellings))})\b") if spellings else re.compile(r"(?!)")


def split_words(field: str) -> list[str]:
    """Split a field in any naming style into lower-case words."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", field)
    return re.findall(r"[a-z]+", spaced.lower())
