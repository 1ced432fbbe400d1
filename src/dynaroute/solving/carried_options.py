"""Options that are carried along: stored as JSON, or used again for the rest of a search. Every option survives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from dynaroute.base.errors import OptionError
from dynaroute.problem.solution import Solution
from dynaroute.problem.statements import NO_STATEMENTS
from dynaroute.solving.options import Decoding, SolveOptions

_OF_POLICY = ("model", *(entry.name for entry in fields(Decoding)))


def continue_from(options: SolveOptions, start: Solution) -> SolveOptions:
    """Return the same options from known routes; those of the policy no longer apply.

    Parameters
    ----------
    options
        Options of the whole search.
    start
        Routes of an earlier part of it.
    """
    unused: dict[str, Any] = {entry.name: entry.default for entry in fields(options) if entry.name in _OF_POLICY}
    return replace(options, **unused, start=start)


def options_to_json(options: SolveOptions) -> dict[str, Any]:
    """Convert every option that was given to plain data for JSON, by name.

    Parameters
    ----------
    options
        Options of one instance.

    Raises
    ------
    OptionError
        If the model is neither a name nor a folder, or there are several starts.
    """
    given = {entry.name: getattr(options, entry.name) for entry in fields(options)}
    plain = {name: value for name, value in given.items() if value is not None}
    if not isinstance(options.model, str | Path):
        raise OptionError.about("model", "only a model on disk can be stored.", "Name it, or its folder.")
    plain["model"] = str(options.model)
    if options.start is None:
        return plain
    if not isinstance(options.start, Solution):
        raise OptionError.about("start", "there are several starts.", "Store the options of one instance.")
    start = asdict(replace(options.start, statements=NO_STATEMENTS))  # judged when it was read
    del start["statements"]
    return {**plain, "start": start}


def options_from_json(document: Mapping[str, Any]) -> SolveOptions:
    """Restore options that `options_to_json` converted.

    Parameters
    ----------
    document
        Values by name; None means not given.
    """
    start = document.get("start")
    return SolveOptions(**{**document, "start": None if start is None else Solution(**start)})
