"""Log-probabilities of whole solutions, all steps at once: begin with `replay`."""

from dynaroute.training.replay.replay import replay_log_probabilities

__all__ = ["replay_log_probabilities"]
