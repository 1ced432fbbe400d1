"""Loading libraries and machine code before a clock starts."""

from __future__ import annotations

from threading import Timer

from dynaroute.cli.improve_options import ImproveOptions
from dynaroute.cli.output import print_note
from dynaroute.cli.policy_options import PolicyOptions
from dynaroute.improve.improvers import IMPROVERS

__all__ = ["load_what_is_needed"]

USUAL_SECONDS = 5.0  # longer than libraries and machine code take to load


def load_what_is_needed(policy: PolicyOptions, improving: ImproveOptions) -> None:
    """Load all that improving needs, so that none of a search's time is spent on it; tell if it has to be compiled.

    Parameters
    ----------
    policy, improving
        What will be asked for.
    """
    improver = IMPROVERS.get(improving.way)
    if improver is None:
        return
    patience = Timer(USUAL_SECONDS, print_note, ["compiling for this machine, once; the clock starts after that."])
    patience.start()
    try:
        improver.prepare()
        import dynaroute.solving.searching

        if improving.uses(policy):
            import dynaroute.solving.in_time  # noqa: F401
    finally:
        patience.cancel()
