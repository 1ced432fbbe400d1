"""The mean of a policy's parameters over the last part of a run, which is often better than the last ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from dynaroute.model import Policy

__all__ = ["ParameterMean"]

_EVERY = 10  # updates; neighbours are nearly the same


class ParameterMean:
    """A running mean of the parameters and statistics of a policy.

    Parameters
    ----------
    policy
        The policy, which is never changed for good.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.count = 0
        self.mean: dict[str, Tensor] = {}

    def add(self, step: int) -> None:
        """Add the policy's parameters to the mean, after every tenth update.

        Parameters
        ----------
        step
            Number of the update.
        """
        if step % _EVERY:
            return
        self.count += 1
        with torch.no_grad():
            for name, tensor in self.policy.state_dict().items():
                if self.count == 1 or not tensor.is_floating_point():
                    self.mean[name] = tensor.clone()
                else:
                    self.mean[name].lerp_(tensor, 1 / self.count)

    def clear(self) -> None:
        """Forget everything."""
        self.count, self.mean = 0, {}

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Give the policy the mean for as long as the context lasts."""
        own = {name: tensor.clone() for name, tensor in self.policy.state_dict().items()}
        self.policy.load_state_dict(self.mean)  # in place, because recorded steps know the tensors
        try:
            yield
        finally:
            self.policy.load_state_dict(own)

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"count": self.count, "mean": self.mean}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` returned."""
        self.count, self.mean = state["count"], state["mean"]
