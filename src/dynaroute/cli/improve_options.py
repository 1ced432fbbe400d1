"""The options on improving, as a user gave them: what is void is named."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from dynaroute.cli.options import Improve
from dynaroute.cli.output import print_note
from dynaroute.cli.policy_options import PolicyOptions
from dynaroute.errors import OptionError

if TYPE_CHECKING:
    from dynaroute.solving.options import SolveSettings

__all__ = ["ImproveOptions"]


@dataclass(frozen=True)
class ImproveOptions:
    """How to improve; None stands for an option that was not given.

    Parameters
    ----------
    improve, time_limit, iterations, target, threads
        As in `dynaroute.solving.options.SolveOptions`.
    start
        Where known routes are to be read.

    Raises
    ------
    OptionError
        If a value makes no sense, or an option would have to be disobeyed because of another.
    """

    improve: Improve | None = None
    time_limit: float | None = None
    iterations: int | None = None
    target: float | None = None
    threads: int | None = None
    start: Path | None = None

    def __post_init__(self) -> None:
        try:
            _ = self.way
        except OptionError as error:
            option = f"--{(error.where.field or '').replace('_', '-')}"
            error.where = replace(error.where, field=option)
            raise

    @property
    def way(self) -> Improve:
        """How routes are improved: what was asked for, or what follows from a limit that was given."""
        from dynaroute.solving.options import SolveOptions

        return SolveOptions(**self.settings()).way

    @property
    def searches(self) -> bool:
        """Whether there is a search."""
        return self.way == "search"

    def settings(self) -> SolveSettings:
        """The keywords of `dynaroute.solver.solve` for the options that were given; it knows the other defaults."""
        given = {name: value for name, value in asdict(self).items() if value is not None and name != "start"}
        return cast("SolveSettings", given)

    def print_void(self, policy: PolicyOptions) -> None:
        """Name the options that were given, also those on a policy, and change nothing."""
        if policy.seed is not None and policy.decode != "sample" and not self.searches:
            print_note("--seed changes nothing: only --decode sample and a search draw at random.")
        if policy.device is not None and not self.uses(policy):
            print_note("--device changes nothing: without a policy, all work is the CPU's.")
        if self.threads is not None and self.way == "none":
            print_note("--threads changes nothing: they are for improving.")
        if policy.model != "auto" or self.uses(policy):
            return
        for option in policy.decoding_options():
            print_note(f"{option} changes nothing: {self._first_routes}, unless --model names a policy.")

    def uses(self, policy: PolicyOptions) -> bool:
        """Whether a policy builds the first routes."""
        if policy.model == "auto":
            return not self.searches and self.start is None
        return policy.model != "savings"

    @property
    def _first_routes(self) -> str:
        return "a search starts from savings" if self.start is None else "the first routes are those of --start"
