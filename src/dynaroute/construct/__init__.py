"""Building routes with a policy."""

from dynaroute.construct.build import construct
from dynaroute.construct.eager import log_probabilities
from dynaroute.construct.strategies import Augmented, Greedy, MultiStart, Sampling, Strategy

__all__ = ["Augmented", "Greedy", "MultiStart", "Sampling", "Strategy", "construct", "log_probabilities"]
