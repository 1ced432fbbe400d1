"""``python -m dynaroute`` is the command line."""

from dynaroute.cli import main

if __name__ == "__main__":
    main()
