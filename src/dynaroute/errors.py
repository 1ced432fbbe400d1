"""The errors by their public path; they are defined in `dynaroute.base.errors`."""

from dynaroute.base.errors import *  # noqa: F403
from dynaroute.base.errors import __all__ as __all__
