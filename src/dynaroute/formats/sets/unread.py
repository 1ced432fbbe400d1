"""Parts of a set that are not read: refused if routes may depend on them, unless their values say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import UnsupportedError
from dynaroute.formats.unsupported import is_unsupported, split_words

# Parts of names that restrict routes, in names that other libraries write, with or without something between words.
_CONSTRAINT = re.compile(
    r"window|limit|duration|backhaul|linehaul|service|deadline|openroute|pickup|priorit|prize|skill|precedence|compatib"
    r"|maxlen|maxdist|maxdur|matrix|matrices|fenster|fenetre|ventana"
)
_BOUND = re.compile(r"tws?|early|late|begin|start|end")
# A name with such a word describes how the set was made or solved.
_DESCRIPTION = re.compile(
    r"best|known|bks|optimal|optimum|bound|solved?|solver|runtime|elapsed|cpu|generator|created|comments?|notes?"
)
_RESULT = re.compile(
    r"routes?|tours?|solutions?|actions?|lengths?|costs?|objectives?|rewards?|gaps?|seeds?|ids?|index|names?|labels?"
    r"|visited"
)
_AT_MOST = re.compile(r"limit|max|longest|horizon|deadline|due|late|end")
_WINDOW = re.compile(r"window|tws?$|fenster|fenetre|ventana")
_FACTOR = re.compile(r"speed|capacity")


def refuse_constraint(
    what: str, name: str, chunks: Iterable[NDArray[Any] | None], customers: tuple[int, int] | None = None
) -> None:
    """Refuse something that is not read, if the routes may depend on it.

    Parameters
    ----------
    what
        What it is: "array", "tensor", "column".
    name
        Its name in the file.
    chunks
        Its values, of which no more are taken than needed; None for values that are not numbers.
    customers
        Numbers of instances and of customers, if it can be seen from its shape that it has a value for each customer.

    Raises
    ------
    UnsupportedError
        If it looks like a constraint, or has a value for each customer and an unknown meaning.
    """
    if _looks_like_constraint(name):
        if not all(_says_nothing(name, values) for values in chunks):
            raise UnsupportedError.about(
                name,
                f"the {what} {name} looks like a constraint, which is not read here.",
                f"If the routes do not depend on it, remove the {what}. docs/fleets.md says which limits are "
                "supported, and how to write them.",
            )
        return
    if customers is None or _describes(name):
        return
    for values in chunks:
        if values is not None and _is_per_customer(values, customers) and not _says_nothing(name, values):
            raise UnsupportedError.about(
                name,
                f"the {what} {name} has one value per customer, but its meaning is unknown.",
                f"Remove the {what} if the routes do not depend on it.",
            )


def _looks_like_constraint(name: str) -> bool:
    """Whether a name asks for something, in any naming style; a maximal route length does, but route lengths do not."""
    words = split_words(name)
    if any(map(_DESCRIPTION.fullmatch, words)):
        return False
    others = [word for word in words if not _RESULT.fullmatch(word)]
    return (
        is_unsupported(" ".join(others))
        or any(map(_BOUND.fullmatch, others))
        or _CONSTRAINT.search("".join(others)) is not None
    )


def _describes(name: str) -> bool:
    """Whether a name is that of a result or another description."""
    return any(_RESULT.fullmatch(word) or _DESCRIPTION.fullmatch(word) for word in split_words(name))


def _says_nothing(name: str, values: NDArray[Any] | None) -> bool:
    """Whether no value restricts anything: infinite limits, windows without bounds, zeros; NaN is no value."""
    if values is None:
        return False
    key = name.lower()
    if _WINDOW.search(key) and values.ndim and values.shape[-1] == 2:
        return bool((~(values[..., 0] > 0)).all()) and _is_all(values[..., 1], np.inf)
    return _is_all(values, np.inf if _AT_MOST.search(key) else 1 if _FACTOR.search(key) else 0)


def _is_all(values: NDArray[Any], neutral: float) -> bool:
    return bool(((values == neutral) | (values != values)).all())


def _is_per_customer(values: NDArray[Any], customers: tuple[int, int]) -> bool:
    """Whether an array of N instances has n values for each, with or without the depot's."""
    count, size = customers
    # with few customers, other lengths are the same by chance
    return size > 2 and values.shape[:1] == (count,) and any(side in (size, size + 1) for side in values.shape[1:])
