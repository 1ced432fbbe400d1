"""The published attention model, greedy, straight from its published tensors: in numpy, with nothing of ours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

HEADS = 8
LAYERS = 3
CLIP = 10.0
EPSILON = 1e-5  # of batch normalisation


def visit_greedily(
    weights: dict[str, Array], positions: Array, demands: NDArray[np.int64], capacity: int
) -> list[list[int]]:
    """Nodes in the order of their visits, 0 for returns, for (B, n + 1, 2) positions and (B, n + 1) demands."""
    count, nodes = demands.shape
    rows = np.arange(count)
    h = _encode(weights, positions, demands / capacity)  # (B, n + 1, d)
    width = h.shape[2]
    key, value, logit_key = np.split(h @ weights["project_node_embeddings.weight"].T, 3, axis=2)
    fixed = h.mean(axis=1) @ weights["project_fixed_context.weight"].T  # (B, d)

    is_visited = np.zeros((count, nodes), dtype=bool)
    is_visited[:, 0] = True
    load, previous = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    sequences: list[list[int]] = [[] for _ in range(count)]
    while not is_visited.all() or previous.any():
        context = np.concatenate([h[rows, previous], 1 - load[:, None] / capacity], axis=1)  # (B, d + 1)
        query = fixed + context @ weights["project_step_context.weight"].T  # (B, d)
        is_refused = is_visited | (load[:, None] + demands > capacity)
        is_refused[:, 0] = (previous == 0) & ~is_visited.all(axis=1)
        scores = np.einsum("bmd,bnmd->bmn", _split(query), _split(key)) / np.sqrt(width // HEADS)
        shares = _softmax(np.where(is_refused[:, None], -np.inf, scores))  # (B, heads, n + 1)
        glimpse = np.einsum("bmn,bnmd->bmd", shares, _split(value)).reshape(count, width)
        glimpse = glimpse @ weights["project_out.weight"].T
        logits = CLIP * np.tanh(np.einsum("bd,bnd->bn", glimpse, logit_key) / np.sqrt(width))
        previous = np.where(is_refused, -np.inf, logits).argmax(axis=1)
        load = np.where(previous == 0, 0, load + demands[rows, previous])
        is_visited[rows, previous] = True
        for sequence, node in zip(sequences, previous.tolist(), strict=True):
            sequence.append(node)
    return sequences


def _encode(weights: dict[str, Array], positions: Array, fractions: Array) -> Array:
    customers = np.concatenate([positions[:, 1:], fractions[:, 1:, None]], axis=2)
    customers = customers @ weights["init_embed.weight"].T + weights["init_embed.bias"]
    depot = positions[:, :1] @ weights["init_embed_depot.weight"].T + weights["init_embed_depot.bias"]
    h = np.concatenate([depot, customers], axis=1)  # (B, n + 1, d)
    for layer in range(LAYERS):
        name = f"embedder.layers.{layer}"
        h = _normalise(weights, f"{name}.1.normalizer", h + _attend(weights, f"{name}.0.module", h))
        inner = h @ weights[f"{name}.2.module.0.weight"].T + weights[f"{name}.2.module.0.bias"]
        outer = np.maximum(inner, 0) @ weights[f"{name}.2.module.2.weight"].T + weights[f"{name}.2.module.2.bias"]
        h = _normalise(weights, f"{name}.3.normalizer", h + outer)
    return h


def _attend(weights: dict[str, Array], name: str, h: Array) -> Array:
    attended = np.zeros_like(h)
    for head in range(HEADS):
        query, key, value = (h @ weights[f"{name}.W_{part}"][head] for part in ("query", "key", "val"))
        shares = _softmax(query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[2]))  # (B, n + 1, n + 1)
        attended += shares @ value @ weights[f"{name}.W_out"][head]
    return attended


def _normalise(weights: dict[str, Array], name: str, h: Array) -> Array:
    mean, variance = weights[f"{name}.running_mean"], weights[f"{name}.running_var"]
    centred: Array = (h - mean) / np.sqrt(variance + EPSILON)
    return centred * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _split(vectors: Array) -> Array:
    return vectors.reshape(*vectors.shape[:-1], HEADS, -1)


def _softmax(scores: Array) -> Array:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: Array = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return shares
