"""Loading libraries and machine code before a clock starts."""

from __future__ import annotations

from threading import Timer

from dynaroute.cli.output import print_note
from dynaroute.improve.improvers import IMPROVERS
from dynaroute.solving.options import SolveOptions

__all__ = ["load_what_is_needed"]

USUAL_SECONDS = 5.0  # longer than libraries and machine code take to load


def load_what_is_needed(options: SolveOptions) -> None:
    """Load all that improving needs, so that none of a search's time is spent on it; tell if it has to be compiled.

    Parameters
    ----------
    options
        What will be asked for.
    """
    improver = IMPROVERS.get(options.way)
    if improver is None:
        return
    patience = Timer(USUAL_SECONDS, print_note, ["compiling for this machine, once; the clock starts after that."])
    patience.start()
    try:
        improver.prepare()
        import dynaroute.solving.searching

        if options.uses_policy:
            import dynaroute.solving.in_time  # noqa: F401
    finally:
        patience.cancel()
