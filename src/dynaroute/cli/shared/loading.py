"""Loading libraries and machine code before a clock starts."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Timer
from typing import TYPE_CHECKING

from dynaroute.cli.shared.output import print_note
from dynaroute.search.improvers import IMPROVERS
from dynaroute.solving.options import SolveOptions

if TYPE_CHECKING:
    from dynaroute.problem.instance import Instance

__all__ = ["preload_search"]

USUAL_SECONDS = 5.0  # longer than loading libraries and machine code takes


def preload_search(options: SolveOptions, instances: Sequence[Instance]) -> None:
    """Load everything a search needs before its clock starts, and say if something must be compiled."""
    from dynaroute.solving.solve import refuse_improving_fleets, refuse_too_large

    refuse_too_large(instances, options)
    refuse_improving_fleets(instances, options)
    improver = IMPROVERS.get(options.improver)
    if improver is None:
        return
    patience = Timer(USUAL_SECONDS, print_note, ["compiling once for this machine; the time limit starts afterwards."])
    patience.start()
    try:
        improver.prepare(max((instance.size for instance in instances), default=0))
        if options.objective == "vehicles" or not all(instance.is_plain for instance in instances):
            from dynaroute.search.with_limits.search import load_machine_code_of_fleets

            load_machine_code_of_fleets()
        import dynaroute.solving.searching

        if options.total_time is not None:
            from dynaroute.solving.together import prepare_device

            prepare_device(options.device)
        if options.uses_policy:
            import dynaroute.solving.in_time  # noqa: F401
    finally:
        patience.cancel()
