"""The options of one request: filled in, and checked against the service's limits."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from dynaroute.base.errors import OptionError
from dynaroute.solving.options import DECLARATIONS, USUAL_TIME_LIMIT, Decoding, Improve, SolveOptions

_FILLED_IN = (
    *(entry.name for entry in fields(Decoding)),
    *("improve", "time_limit", "total_time", "iterations", "seed"),
)


def choose_options(given: dict[str, Any], usual: Improve, longest: float) -> SolveOptions:
    """Fill in the given options.

    Parameters
    ----------
    given
        The given fields of `SolveOptions`.
    usual
        How to improve if neither that nor a time limit is given.
    longest
        Longest allowed time limit.
    """
    improve = given.get("improve") or ("search" if "time_limit" in given else usual)
    limit = given.get("time_limit")
    if limit is None and improve == "search":
        limit = min(USUAL_TIME_LIMIT, longest)
    options = SolveOptions(**{**given, "improve": improve, "time_limit": limit})
    if limit is not None and limit > longest:
        message = f"the time limit is {limit:g} s, above the largest allowed limit of {longest:g} s."
        raise OptionError.about("time_limit", message, "Give less; POST /v1/jobs may allow more.")
    return options


def can_be_solved_together(options: SolveOptions, others: SolveOptions) -> bool:
    """Whether two requests can be solved together: their options are equal, including defaults."""
    return _decisive_options(options) == _decisive_options(others)


def count_work(options: SolveOptions, customers: int) -> int:
    """Return the policy's work, as customers times solutions."""
    return customers * options.decoding.attempts


def refuse_excess(options: SolveOptions, customers: int, most_work: int) -> None:
    """Raise if building would take too long."""
    if count_work(options, customers) <= most_work:
        return
    message = f"{options.decoding.attempts} solutions for {customers} customers are more work than is allowed."
    remedy = f"At most {max(1, most_work // customers)} solutions are allowed for this instance."
    raise OptionError.about("samples" if options.decoding.decode != "greedy" else "augment", message, remedy)


def _decisive_options(options: SolveOptions) -> tuple[object, ...]:
    """List what decides, every option once: those with defaults filled in, and all others as given."""
    others = (getattr(options, name) for name in DECLARATIONS if name not in _FILLED_IN)
    return options.decoding, options.improver, options.limit, options.usual_seed, *others
