"""The command line: one file a command, all failures leave through one door.

Exit codes: 0 done; 1 a well-formed solution that is wrong; 2 input that cannot be read or cannot be a problem, or a
wrong option; 130 interrupted. Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import sys
from typing import NoReturn

from dynaroute.cli.exit_codes import INTERRUPTED

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command that the program's arguments name, and exit with its code."""
    try:
        # inside, so that an interruption while libraries load is as quiet as any other
        from dynaroute.cli.app import run

        run()
    except KeyboardInterrupt:
        pass
    except SystemExit as leaving:
        if leaving.code != INTERRUPTED:
            raise
    sys.stderr.write("Interrupted; no file is half-written.\n")
    sys.exit(INTERRUPTED)
