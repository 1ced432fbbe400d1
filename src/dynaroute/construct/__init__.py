"""Building routes with a policy: greedily, by samples, or from several starts.

Begin with `build`. `eager` runs on any device, `fused` by kernels; both build the same routes. It may import `base`,
`batch`, `kernels` and `model`.
"""

from dynaroute.construct.branching import SGBS, Beam
from dynaroute.construct.build import construct
from dynaroute.construct.eager import log_probabilities, resume
from dynaroute.construct.strategies import Augmented, Greedy, MultiStart, Sampling, Strategy

__all__ = [
    "SGBS",
    "Augmented",
    "Beam",
    "Greedy",
    "MultiStart",
    "Sampling",
    "Strategy",
    "construct",
    "log_probabilities",
    "resume",
]
