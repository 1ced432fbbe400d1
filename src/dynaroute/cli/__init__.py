"""The command line: one file per command, and one place that handles all failures.

Exit codes: 0 done; 1 a well-formed solution that is wrong; 2 unreadable or invalid input, or a wrong option; 3 a batch
has rows with errors; 4 no feasible plan was found in time; 130 interrupted. Results go to stdout, everything else to
stderr. Begin with `app`, which lists the commands. It may import every room above it.
"""

from __future__ import annotations

import sys
from typing import NoReturn

from dynaroute.cli.shared.exit_codes import INTERRUPTED

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command given by the program's arguments, and exit with its code."""
    try:
        # imported here, so that Ctrl-C while libraries load is handled too
        from dynaroute.cli.app import run

        run()
    except KeyboardInterrupt:
        pass
    except SystemExit as leaving:
        if leaving.code != INTERRUPTED:
            raise
    sys.stderr.write("Interrupted. No file was left half-written.\n")
    sys.exit(INTERRUPTED)
