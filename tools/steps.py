"""Choose the steps of a tool on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Collection

__all__ = ["choose_steps"]


def choose_steps(description: str | None, steps: Collection[str]) -> list[str]:
    """Read the steps from the command line; all of them if none is given.

    Parameters
    ----------
    description
        Purpose of the tool.
    steps
        Names of the steps, in order.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", help=f"which of {', '.join(steps)}; all of them by default")
    wanted: list[str] = parser.parse_args().steps or list(steps)
    if unknown := [step for step in wanted if step not in steps]:
        parser.error(f"there is no step {unknown[0]!r}")
    return wanted
