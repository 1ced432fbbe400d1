"""Random instances by their public path; they are defined in `dynaroute.draw`."""

from dynaroute.draw import *  # noqa: F403
from dynaroute.draw import __all__ as __all__
