"""Adding layers to a trained policy without losing its training."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from dynaroute.base.errors import OptionError
from dynaroute.draw.distribution import find_distribution
from dynaroute.draw.drawing import draw_instances
from dynaroute.model.encoder import AttentionLayer
from dynaroute.model.packing import Packing
from dynaroute.model.policy import Policy

_SIZES = (10, 120)
_INSTANCES = 512  # on whose embeddings a new layer is fitted to the identity
_STEPS, _ROWS, _RATE = 1200, 1024, 2e-3


def deepen(policy: Policy, layers: int, generator: torch.Generator) -> Policy:
    """Return a policy with more layers that builds nearly the same routes.

    New layers come after the last one. Their attention is random but adds nothing at first (W^O = 0). Their
    feed-forward sub-layer is fitted on embeddings of random instances so that tanh(ĥ + FF(ĥ)) with ĥ = tanh(h) gives h
    again.

    Parameters
    ----------
    policy
        A policy with tanh after each sub-layer; it is not changed.
    layers
        Number of layers of the result.
    generator
        Source of instances and new parameters, on the CPU.

    Raises
    ------
    OptionError
        If the policy already has that many layers, or uses another normalisation than tanh.
    """
    own = policy.config.layers
    if layers <= own or policy.config.normalisation != "tanh":
        raise OptionError.about(
            "layers",
            f"a policy with {own} layers and {policy.config.normalisation} cannot be extended to {layers} layers.",
            "Choose more layers and a policy with tanh, or start from another model.",
        )
    deeper = type(policy)(replace(policy.config, layers=layers), generator=generator, card=policy.card)
    deeper.load_state_dict({**deeper.state_dict(), **policy.state_dict()})
    added = [layer for layer in deeper.encoder.layers if isinstance(layer, AttentionLayer)][own:]
    _leave_alone(added[0], _embed_instances(policy, generator), generator)
    with torch.no_grad():
        for layer in added:
            layer.output.weight.zero_()
            layer.feed_forward_in.load_state_dict(added[0].feed_forward_in.state_dict())
            layer.feed_forward_out.load_state_dict(added[0].feed_forward_out.state_dict())
    return deeper.eval()


def _embed_instances(policy: Policy, generator: torch.Generator) -> Tensor:
    """Embed the remaining nodes of random instances at random moments: (T, d_h)."""
    batch = draw_instances(find_distribution("mixed").resize(*_SIZES), _INSTANCES, generator, 0)
    part = torch.rand(len(batch), 1, generator=generator)
    is_left = batch.is_customer & (torch.rand(batch.demands.shape, generator=generator) < part)  # (B, M)
    is_left[:, 0] = True
    instance, node = is_left.nonzero().unbind(1)  # (T,) each
    lengths = is_left.sum(1)
    with torch.no_grad():
        embedded: Tensor = policy.encoder(
            batch.features(instance, node, policy.dtype), node == 0, Packing(lengths, int(lengths.max()))
        )
    return embedded


def _leave_alone(layer: AttentionLayer, embedded: Tensor, generator: torch.Generator) -> None:
    """Fit a layer's feed-forward sub-layer so that, without attention, the layer is the identity."""
    inner, outer = layer.feed_forward_in, layer.feed_forward_out
    width = embedded.shape[1]
    with torch.no_grad():
        outer.weight.zero_()
        outer.bias.zero_()
        if len(inner.weight) >= 2 * width:  # begin with ĥ + ĥ: relu(ĥ) - relu(-ĥ) is ĥ
            identity = torch.eye(width)
            inner.weight[: 2 * width] = torch.cat([identity, -identity])
            inner.bias[: 2 * width] = 0.0
            outer.weight[:, : 2 * width] = torch.cat([identity, -identity], 1)
    optimiser = torch.optim.Adam([*inner.parameters(), *outer.parameters()], lr=_RATE)
    for step in range(_STEPS):
        optimiser.param_groups[0]["lr"] = _RATE * (1 - step / _STEPS)
        given = embedded[torch.randint(len(embedded), (_ROWS,), generator=generator)]  # (R, d_h)
        middle = given.tanh()
        loss = ((middle + layer.feed_forward(middle)).tanh() - given).square().mean()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
