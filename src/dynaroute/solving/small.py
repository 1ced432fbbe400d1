"""Greedy routes of a shipped policy for small instances, in numpy: loading PyTorch takes longer than building them.

The twin of `dynaroute.construct.eager` with `Policy.begin` and `Policy.logits`; the equations are the paper's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.files import checksum_of, read_bytes
from dynaroute.batch.policy_view import locate
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.solving.building import date_weights
from dynaroute.solving.options import SolveOptions
from dynaroute.weights import find_model, shipped_models

Floats = NDArray[np.float32]

_MOST_CUSTOMERS = 200  # of all instances together; beyond, PyTorch is worth its start
_AT_THE_SAME_PLACE = 1e-4  # as in `dynaroute.model.decoder`
_SETTINGS = {  # of the policies that this module knows
    "scaled": False,
    "normalisation": "tanh",
    "depot_features": 3,
    "shrinking_mean": True,
    "logit_query": True,
}


def find_small_policy(instances: Sequence[Instance], model: object, options: SolveOptions) -> SmallPolicy | None:
    """Find the policy that builds these routes without PyTorch; None if PyTorch must.

    It builds small instances greedily, with a shipped AM-D and on no particular device.
    """
    if not all(instance.is_plain for instance in instances):
        return None
    if not isinstance(model, str) or model not in shipped_models() or options.device is not None:
        return None
    decoding = options.decoding
    if decoding.decode != "greedy" or decoding.augment:
        return None
    if sum(instance.size for instance in instances) > _MOST_CUSTOMERS:
        return None
    return load_small_policy(model)


def load_small_policy(name: str) -> SmallPolicy | None:
    """Load a shipped policy without PyTorch; None if it has other equations than this module knows."""
    folder = find_model(name)
    return _load_once(folder, date_weights(folder))


@lru_cache(maxsize=4)
def _load_once(folder: Path, date: int) -> SmallPolicy | None:
    """Load weights once for all calls; None if PyTorch must explain what is wrong with them, or has other equations."""
    from safetensors.numpy import load

    description = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    settings = description["policy"]
    is_known = all(settings.get(name) == value for name, value in _SETTINGS.items())
    if description["kind"] != "AM-D" or not is_known or not date:
        return None
    weights = read_bytes(folder / "model.safetensors")
    if checksum_of(weights) not in description.get("weights_sha256", ()):
        return None
    return SmallPolicy(description["card"]["name"], settings, load(weights))


class _StepInputs(NamedTuple):
    """What the steps of one route need: a row for each remaining node, the depot first."""

    key: Floats  # (heads, T, d_k)
    value: Floats  # (heads, T, d_k)
    logit_key: Floats  # (T, d_h)
    graph: Floats  # (T, d_h)
    last: Floats  # (T, d_h)
    edge: Floats | None  # (T, d_h)
    places: Floats  # (T, 2)


class SmallPolicy:
    """A shipped policy that builds routes greedily.

    Parameters
    ----------
    name
        Its name.
    settings
        The settings of its `PolicyConfig`.
    weights
        Its parameters by name.
    """

    def __init__(self, name: str, settings: dict[str, Any], weights: dict[str, Floats]) -> None:
        self.name = name
        self._heads, self._layers = int(settings["heads"]), int(settings["layers"])
        self._clip = np.float32(settings["clip"])
        # features of rules beyond capacity are all 0 here
        embeddings = [f"encoder.embed_{node}.weight" for node in ("customer", "depot")]
        self._weights = {**weights, **{name: weights[name][:, :3] for name in embeddings}}
        self._distance_weight = weights.get("decoder.distance_weight")  # (heads + 1,)
        self._folded, self._capacity = self._fold()

    def build(self, instance: Instance) -> Solution:
        """Build routes for an instance with coordinates that only capacity limits."""
        positions = locate(instance).astype(np.float32)  # (n + 1, 2)
        demands, capacity = instance.demands, instance.capacity
        features = np.column_stack([positions, demands.astype(np.float32) / np.float32(capacity)])  # (n + 1, 3)
        left = np.arange(instance.size + 1)
        routes: list[tuple[int, ...]] = []
        while len(left) > 1:
            slots = self._drive(features[left], demands[left], capacity)
            routes.append(tuple(left[slots].tolist()))
            left = np.delete(left, slots)
        return Solution(tuple(routes))

    def _drive(self, features: Floats, demands: NDArray[np.int64], capacity: int) -> list[int]:
        """One route among the remaining nodes: the slots of its customers (eqs 12 to 21)."""
        memory = self._remember(self._encode(features), features[:, :2])
        graph, count = memory.graph.sum(0), len(features)
        is_open = np.ones(len(features), dtype=bool)
        slots: list[int] = []
        previous, remaining = 0, capacity
        while True:
            feasible = is_open & (demands <= remaining)
            feasible[0] = previous != 0
            fraction = np.float32(remaining) / np.float32(capacity)
            logits = self._score(memory, graph / np.float32(count), previous, fraction, feasible)
            previous = int(logits.argmax())
            if previous == 0:
                return slots
            slots.append(previous)
            is_open[previous] = False
            remaining -= int(demands[previous])
            graph, count = graph - memory.graph[previous], count - 1

    def _encode(self, features: Floats) -> Floats:
        """(T, d_h) node embeddings (eqs 2 to 11)."""
        hidden = self._apply("encoder.embed_customer", features)
        hidden[0] = self._apply("encoder.embed_depot", features[:1])[0]
        for layer in (f"encoder.layers.{number}" for number in range(self._layers)):
            query, key, value = map(self._split_heads, np.split(self._apply(f"{layer}.query_key_value", hidden), 3, 1))
            heads = _softmax(query @ key.transpose(0, 2, 1)) @ value  # (heads, T, d_k)
            attended = heads.transpose(1, 0, 2).reshape(hidden.shape)
            hidden = np.tanh(hidden + self._apply(f"{layer}.output", attended))
            inner = np.maximum(self._apply(f"{layer}.feed_forward_in", hidden), 0)
            hidden = np.tanh(hidden + self._apply(f"{layer}.feed_forward_out", inner))
        return hidden

    def _remember(self, hidden: Floats, positions: Floats) -> _StepInputs:
        dimension = hidden.shape[1]
        projected = hidden @ self._folded.T
        key, value, logit_key, graph, last, *edge = np.split(projected, projected.shape[1] // dimension, 1)
        places = positions * np.float32(len(hidden) ** 0.5)
        return _StepInputs(
            self._split_heads(key), self._split_heads(value), logit_key, graph, last, edge[0] if edge else None, places
        )

    def _score(
        self, memory: _StepInputs, mean: Floats, previous: int, fraction: np.float32, feasible: NDArray[np.bool_]
    ) -> Floats:
        """(T,) logits of the next node, minus infinity where infeasible."""
        query = mean + memory.last[previous] + fraction * self._capacity[0]  # (d_h,)
        scores = memory.key @ query.reshape(self._heads, -1, 1)  # (heads, T, 1)
        distances = np.zeros(len(feasible), dtype=np.float32)
        if self._distance_weight is not None:
            squared = np.square(memory.places - memory.places[previous]).sum(1)
            distances = np.float32(0.5) * np.log(squared + np.float32(_AT_THE_SAME_PLACE))
            scores = scores + self._distance_weight[:-1, None, None] * distances[:, None]
        weights = _softmax(np.where(feasible, scores[..., 0], -np.inf))  # (heads, T)
        glimpse = (weights[:, None] @ memory.value).reshape(-1)  # (d_h,)
        if memory.edge is not None:
            glimpse = glimpse + memory.edge[previous] + fraction * self._capacity[1]
        logits = memory.logit_key @ glimpse
        if self._distance_weight is not None:
            logits = logits + self._distance_weight[-1] * distances
        return np.where(feasible, self._clip * np.tanh(logits), -np.inf)

    def _fold(self) -> tuple[Floats, Floats]:
        """The matrices of `Decoder.fold`, and its capacity weights."""

        def take(name: str) -> Floats:
            return self._weights[f"decoder.{name}.weight"]

        context = take("context_query")  # (d_h, 2 d_h + 1)
        graph, last = np.split(context[:, :-1], 2, 1)
        logit_key = (take("output").T @ take("logit_query").T @ take("logit_key")).astype(np.float32)
        edge = [take("edge")] if "decoder.edge.weight" in self._weights else []
        folded: list[Floats] = [
            take("key"),
            take("value"),
            logit_key,
            graph,
            last,
            *(matrix[:, :-1] for matrix in edge),
        ]
        return np.concatenate(folded), np.stack([context[:, -1], *(matrix[:, -1] for matrix in edge)])

    def _apply(self, name: str, rows: Floats) -> Floats:
        product: Floats = rows @ self._weights[f"{name}.weight"].T
        return product + self._weights[f"{name}.bias"] if f"{name}.bias" in self._weights else product

    def _split_heads(self, rows: Floats) -> Floats:
        """(heads, T, d_k) from (T, d_h)."""
        return rows.reshape(len(rows), self._heads, -1).transpose(1, 0, 2)


def _softmax(scores: Floats) -> Floats:
    grown = np.exp(scores - scores.max(-1, keepdims=True))
    shares: Floats = grown / grown.sum(-1, keepdims=True)
    return shares
