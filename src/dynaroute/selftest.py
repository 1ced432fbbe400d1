"""The program ``python -m dynaroute.selftest``."""

import sys

from dynaroute.study.selftest import main

if __name__ == "__main__":
    sys.exit(main())
