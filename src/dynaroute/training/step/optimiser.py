"""Optimisers: Adam, and Muon (orthogonalised momentum for matrices, Adam for the rest); and the mean of parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from dynaroute.base.vocabulary import OptimiserName
from dynaroute.model import Policy

__all__ = [
    "AdamOptimiser",
    "MuonOptimiser",
    "Optimiser",
    "OptimiserName",
    "ParameterMean",
    "make_optimiser",
    "orthogonalise",
]

_SMALLEST_SIDE = 64  # of matrices that are orthogonalised; embeddings of three features are not
_AVERAGED_EVERY = 10  # updates; neighbours are nearly the same


class Optimiser(Protocol):
    """What an update and a checkpoint need from an optimiser."""

    def zero_grad(self) -> None:
        """Reset gradients."""

    def step(self) -> None:
        """Update the parameters."""

    def state(self) -> dict[str, Any]:
        """Return the state that a resumed run needs."""

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved state."""


class AdamOptimiser:
    """Adam as published.

    Parameters
    ----------
    parameters
        Parameters to update.
    rate
        Learning rate as a tensor, so that recorded CUDA graphs follow its changes.
    """

    def __init__(self, parameters: list[nn.Parameter], rate: Tensor) -> None:
        on_gpu = rate.device.type == "cuda"
        self.rate = rate
        self.adam = torch.optim.Adam(parameters, lr=rate, fused=on_gpu, capturable=on_gpu)

    def zero_grad(self) -> None:
        """Reset gradients."""
        self.adam.zero_grad(set_to_none=True)

    def step(self) -> None:
        """θ <- θ - η m / (√v + ε)."""
        self.adam.step()

    def state(self) -> dict[str, Any]:
        """Return moments and counts."""
        return {"adam": self.adam.state_dict()["state"]}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved state."""
        groups = self.adam.state_dict()["param_groups"]
        for index, moments in state["adam"].items():
            like = self.adam.param_groups[0]["params"][index]
            for name in ("exp_avg", "exp_avg_sq"):
                _require_shape(moments[name], like)
            if float(moments["step"]) < 0 or bool((moments["exp_avg_sq"] < 0).any()):
                raise ValueError("counts and squares must be 0 or more")
        self.adam.load_state_dict({"state": state["adam"], "param_groups": groups})
        for group in self.adam.param_groups:
            group["lr"] = self.rate  # loading replaced it by a copy


class MuonOptimiser:
    """Muon: momentum of each matrix with all singular values set to about 1 (Jordan et al. 2024); Adam for the rest.

    Steps are as long as Adam's: on average 0.2 per entry, times the learning rate.

    Parameters
    ----------
    parameters
        Parameters to update.
    rate
        Learning rate, a tensor.
    momentum
        Momentum of the matrices.
    """

    def __init__(self, parameters: list[nn.Parameter], rate: Tensor, momentum: float = 0.95) -> None:
        self.rate, self.keep = rate, momentum
        self.matrices = [parameter for parameter in parameters if _is_matrix(parameter)]
        self.rest = AdamOptimiser([parameter for parameter in parameters if not _is_matrix(parameter)], rate)
        self.momenta = [torch.zeros_like(matrix) for matrix in self.matrices]

    def zero_grad(self) -> None:
        """Reset gradients."""
        for matrix in self.matrices:
            matrix.grad = None
        self.rest.zero_grad()

    @torch.no_grad()
    def step(self) -> None:
        """W <- W - η 0.2 √max(shape) orthogonalise(momentum)."""
        groups: defaultdict[tuple[int, ...], list[tuple[Tensor, Tensor]]] = defaultdict(list)
        for matrix, momentum in zip(self.matrices, self.momenta, strict=True):
            assert matrix.grad is not None
            momentum.lerp_(matrix.grad, 1 - self.keep)
            ahead = matrix.grad.lerp(momentum, self.keep)
            for part, direction in zip(_split(matrix), _split(ahead), strict=True):
                groups[tuple(part.shape)].append((part, direction))
        for shape, members in groups.items():  # matrices of the same shape together
            moves = orthogonalise(torch.stack([direction for _, direction in members]))
            length = 0.2 * max(shape) ** 0.5
            for (part, _), move in zip(members, moves, strict=True):
                part.sub_(move * (self.rate * length))
        self.rest.step()

    def state(self) -> dict[str, Any]:
        """Momenta, and Adam's moments."""
        return {"momenta": self.momenta, "rest": self.rest.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved state."""
        for mine, theirs in zip(self.momenta, state["momenta"], strict=True):
            _require_shape(theirs, mine)
            mine.copy_(theirs)
        self.rest.restore(state["rest"])


def orthogonalise(matrices: Tensor) -> Tensor:
    """Return (G, a, b) matrices with the same singular vectors, and singular values near 1.

    Five steps of the Newton-Schulz iteration X <- 3.4445 X - 4.7750 (X Xᵀ) X + 2.0315 (X Xᵀ)² X. Its coefficients raise
    small singular values quickly and leave all of them between about 0.7 and 1.2.

    Parameters
    ----------
    matrices
        (G, a, b) matrices.
    """
    is_tall = matrices.shape[1] > matrices.shape[2]
    estimate = matrices.mT if is_tall else matrices
    if estimate.device.type == "cuda":
        estimate = estimate.bfloat16()
    estimate = estimate / (estimate.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        gram = estimate @ estimate.mT  # (G, s, s), s the shorter side
        estimate = 3.4445 * estimate + (2.0315 * gram @ gram - 4.7750 * gram) @ estimate
    oriented: Tensor = estimate.mT if is_tall else estimate
    return oriented.to(matrices.dtype)


def make_optimiser(name: OptimiserName, parameters: list[nn.Parameter], rate: Tensor) -> Optimiser:
    """Make the optimiser of this name."""
    return AdamOptimiser(parameters, rate) if name == "adam" else MuonOptimiser(parameters, rate)


def _require_shape(tensor: Tensor, like: Tensor) -> None:
    """Raise unless the shapes are equal; otherwise copying would broadcast, or the next step fail."""
    if tensor.shape != like.shape:
        raise ValueError(f"a tensor has shape {tuple(tensor.shape)}, not {tuple(like.shape)}")


def _is_matrix(parameter: nn.Parameter) -> bool:
    return parameter.ndim == 2 and min(parameter.shape) >= _SMALLEST_SIDE


def _split(matrix: Tensor) -> tuple[Tensor, ...]:
    """Split stacked query, key and value into three matrices."""
    return matrix.chunk(3) if matrix.shape[0] == 3 * matrix.shape[1] else (matrix,)


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
        if step % _AVERAGED_EVERY:
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
