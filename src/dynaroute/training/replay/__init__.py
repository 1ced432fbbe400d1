"""Log-probabilities of whole solutions, all steps at once.

Begin with `replay`. It may import `base`, `batch`, `construct`, `kernels` and `model`.
"""

from dynaroute.training.replay.replay import replay_log_probabilities

__all__ = ["replay_log_probabilities"]
