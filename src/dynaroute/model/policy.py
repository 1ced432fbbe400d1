"""The policy: encoder and decoder, saving and loading."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import save
from torch import Tensor, nn

from dynaroute.base.errors import FileError, ModelError, in_file
from dynaroute.base.files import checksum_of, write_bytes
from dynaroute.model.config import PolicyConfig
from dynaroute.model.decoder import Context, Decoder, Projections
from dynaroute.model.encoder import Encoder, encode_exactly
from dynaroute.model.packing import Packing
from dynaroute.model.saved import (
    FILES_REMEDY,
    FORMAT_VERSION,
    Description,
    ModelCard,
    hash_present,
    load_matched,
    match_parameters,
    parse_weights,
    read_description,
    read_weights,
)
from dynaroute.model.state import RouteState
from dynaroute.model.twin import find_difference, make_twin
from dynaroute.weights import find_model


class Left(NamedTuple):
    """The remaining nodes of S instances, as a policy sees them.

    Attributes
    ----------
    features
        (T, 3) position and demand / capacity of every node, and further ones; each instance's depot comes first.
    is_depot
        (T,) which of them are depots.
    packing
        The segments, one per instance.
    """

    features: Tensor
    is_depot: Tensor
    packing: Packing


class Memory(NamedTuple):
    """The memory of an attention model while P vehicles drive.

    Attributes
    ----------
    projections
        Projections of the nodes.
    graph_sum, graph_count
        (P, d_h) and (P,): numerator and denominator of the graph mean h̄_t.
    """

    projections: Projections
    graph_sum: Tensor
    graph_count: Tensor

    def take(self, rows: Tensor) -> Memory:
        """Select the (Q,) vehicles in `rows`, which may repeat."""
        return Memory(self.projections.take(rows), self.graph_sum[rows], self.graph_count[rows])


class Policy(nn.Module):
    """p_θ of eq 1: a distribution over solutions, built node by node.

    Construction uses only four methods: `fold` once; `begin` when vehicles leave the depot (every time if
    `encodes_anew`, else only the first time); then `logits` and `advance` at every step. To add a kind of policy,
    subclass this, override these methods, and add an entry to `KINDS`.

    Parameters
    ----------
    config
        Settings; the default is AM-D.
    generator
        Random generator for the initial parameters, which are uniform in ±1 / sqrt(fan-in), including biases.
    card
        How the parameters were trained.
    """

    def __init__(
        self,
        config: PolicyConfig | None = None,
        *,
        generator: torch.Generator | None = None,
        card: ModelCard | None = None,
    ) -> None:
        super().__init__()
        self.config = config if config is not None else PolicyConfig()
        self.card = card if card is not None else ModelCard()
        self._make_parts()
        if generator is not None:
            self._initialise(generator)

    def _make_parts(self) -> None:
        self.encoder = Encoder(self.config)
        self.decoder = Decoder(self.config)

    @property
    def kind(self) -> str:
        """Name of the kind, as in `KINDS`."""
        return self.config.kind

    @property
    def known_kind(self) -> str:
        """The kind among ours that it is built like, whose kernels and parallel replay serve it if it is unchanged."""
        return "AM-D" if self.encodes_anew else "AM"

    @property
    def encodes_anew(self) -> bool:
        """Whether the remaining nodes are encoded at each return to the depot (eqs 22, 23), not only once."""
        return bool(self.config.dynamic)

    def fold(self) -> Tensor:
        """Compute once what is the same for all instances; passed to `begin`."""
        if self._forward_hooks or self._forward_pre_hooks:
            raise ModelError.about(
                "policy",
                "construction does not call a policy as a module, so its hooks would not run.",
                "Add the hook to its encoder.",
            )
        return self.decoder.fold()

    def forward(self, left: Left, state: RouteState) -> Tensor:
        """Compute (P, M) logits of the next nodes of vehicles on their routes: one decision, encoded for itself.

        Construction encodes once a route instead. Policies that remember the order of visits (the pointer network) are
        right only at the depot.

        Parameters
        ----------
        left
            The nodes that were left when each vehicle departed.
        state
            Where the vehicles are now.
        """
        memory = self.begin(left, self.fold())
        if isinstance(memory, Memory) and self.config.shrinking_mean:
            slot = torch.arange(state.is_open.shape[1], device=state.is_open.device)
            is_visited = (left.packing.is_token & ~state.is_open & (slot > 0)).to(memory.graph_sum.dtype)  # (P, M)
            visited = (memory.projections.graph * is_visited[..., None]).sum(1)  # (P, d_h)
            memory = memory._replace(
                graph_sum=memory.graph_sum - visited, graph_count=memory.graph_count - is_visited.sum(1)
            )  # as after `advance`
        return self.logits(memory, state)

    def begin(self, left: Left, folded: Tensor) -> Memory:
        """Encode the remaining nodes when vehicles leave the depot (eqs 2 to 13, 22)."""
        return self._remember(self.encoder(*left), left, folded)

    def begin_exactly(self, left: Left, folded: Tensor) -> Memory:
        """Do what `begin` does with an exact encoder (`encode_exactly`), for comparisons."""
        return self._remember(encode_exactly(self.encoder, *left), left, folded)

    def logits(self, memory: Memory, state: RouteState) -> Tensor:
        """Compute eqs 12 to 19: (P, M) logits of the next node, minus infinity if infeasible."""
        graph_mean = memory.graph_sum / memory.graph_count[:, None]  # (P, d_h)
        fraction = state.remaining.to(graph_mean.dtype) / state.capacity.to(graph_mean.dtype)  # (P,)
        context = Context(graph_mean[:, None], state.previous[:, None], fraction[:, None], state.outlook)
        return self.decoder.logits(memory.projections, context, state.feasible()[:, None]).squeeze(1)

    def advance(self, memory: Memory, state: RouteState, chosen: Tensor) -> Memory:
        """Return the memory after each vehicle has moved to its (P,) chosen slot."""
        if not self.config.shrinking_mean:
            return memory
        graph = memory.projections.graph  # (P, M, d_h)
        row = torch.arange(len(graph), device=graph.device) * graph.shape[1] + chosen  # (P,)
        is_customer = (chosen != 0).to(graph.dtype)  # (P,)
        visited = is_customer[:, None] * graph.flatten(0, 1).index_select(0, row)  # (P, d_h)
        return memory._replace(
            graph_sum=memory.graph_sum - visited, graph_count=memory.graph_count - is_customer
        )  # visited nodes leave the mean (eq 12)

    def _remember(self, hidden: Tensor, left: Left, folded: Tensor) -> Memory:
        projections = self.decoder.project(hidden, left.packing, folded)
        if self.config.distance_bias:
            projections = projections.at(left.features[:, :2], left.packing)
        graph = projections.graph  # (P, M, d_h)
        return Memory(projections, graph.sum(1), left.packing.lengths.to(graph.dtype))

    @property
    def device(self) -> torch.device:
        """Device of the parameters."""
        return next(self.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """Type of the parameters."""
        return next(self.parameters()).dtype

    def _initialise(self, generator: torch.Generator) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                bound = module.in_features**-0.5
                for parameter in module.parameters(recurse=False):
                    nn.init.uniform_(parameter, -bound, bound, generator=generator)

    def save_pretrained(self, folder: str | Path) -> None:
        """Save the policy as config.json, model.safetensors and a model card, README.md.

        Parameters
        ----------
        folder
            Folder to write to, created if needed. Existing files are replaced, each atomically.
        """
        target = Path(folder)
        settings = asdict(self.config)
        kind = settings.pop("kind")
        description = {"format_version": FORMAT_VERSION, "kind": kind, "policy": settings, "card": asdict(self.card)}
        changed = _find_rebuilding_fault(self)
        if changed:
            description["changed"] = changed

        def describe(hashes: Iterable[str]) -> bytes:
            return (json.dumps({**description, "weights_sha256": list(hashes)}, indent=2) + "\n").encode()

        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in self.state_dict().items()}
        with in_file(target):
            try:
                target.mkdir(parents=True, exist_ok=True)
                weights = save(tensors)
                digest = checksum_of(weights)
                # a reader between two writes, or after a kill there, finds weights that match the description
                write_bytes(target / "config.json", describe([digest, *hash_present(target)]))
                write_bytes(target / "model.safetensors", weights)
                write_bytes(target / "config.json", describe([digest]))
                write_bytes(target / "README.md", self.card.to_markdown(self.config, digest, changed).encode())
            except (OSError, SafetensorError, ValueError) as error:  # ValueError: an invalid path
                reason = getattr(error, "strerror", None) or error
                raise FileError(f"cannot write the model: {reason}.", remedy="Choose a writable folder.") from error

    @classmethod
    def from_pretrained(cls, name: str | Path, *, policy: Policy | None = None) -> Policy:
        """Load a shipped model by name, or your own from a folder.

        Parameters
        ----------
        name
            One of `shipped_models()`, or a folder written by `save_pretrained`.
        policy
            A policy that was changed as the saved one was, whose parameters and card are replaced; it is returned.
            By default, a policy is made from the saved settings.

        Returns
        -------
        Policy
            In evaluation mode, on the CPU if it is not the given one.

        Raises
        ------
        ModelError
            If there is no such model, or its files are damaged, inconsistent or of a newer format, or it is another
            policy than the given one, or the saved policy was changed and none is given that was changed so.
        """
        folder = find_model(name)
        with in_file(folder / "config.json"):
            description = read_description(folder / "config.json")
            if policy is None:
                policy = _make_described(description)
            else:
                description.refuse_other_settings(policy.config)
                description.refuse_other_change(_find_rebuilding_fault(policy))
        with in_file(folder / "model.safetensors"):
            weights = read_weights(folder / "model.safetensors")
            tensors = match_parameters(policy, parse_weights(weights))
            if not description.knows(weights):  # a training run may have saved a better model meanwhile
                description = read_description(folder / "config.json")
            if not description.knows(weights):
                raise ModelError.about(
                    "weights_sha256", "the hash in config.json does not match the weights.", FILES_REMEDY
                )
        load_matched(policy, tensors)
        policy.card = description.card
        return policy.eval()


class PolicyKind(NamedTuple):
    """A kind of policy.

    Attributes
    ----------
    config, policy
        Its settings class and policy class.
    """

    config: type[PolicyConfig]
    policy: type[Policy]


# `pointer.py` adds its own.
# Kernels for each kind are listed in `construct.fused`, parallel replay in `training.replay`.
KINDS: dict[str, PolicyKind] = {
    "AM-D": PolicyKind(PolicyConfig, Policy),
    "AM": PolicyKind(PolicyConfig, Policy),
}


def _make_described(description: Description) -> Policy:
    """Make a policy without values, which are only there once the weights are checked."""
    kind = KINDS.get(description.kind)
    if kind is None:
        raise ModelError.about(
            "kind",
            f"the kind of policy {description.kind!r} is unknown.",
            f"Known kinds are {', '.join(KINDS)}. Add yours to dynaroute.model.policy.KINDS, or give a policy of this "
            "kind: Policy.from_pretrained(folder, policy=mine).",
        )
    config = description.make_config(kind.config)
    description.refuse_changed()
    with torch.device("meta"):
        return kind.policy(config)


def _find_rebuilding_fault(policy: Policy) -> str:
    """Describe what was changed in a policy after it was made, which its settings do not say."""
    kind = KINDS.get(policy.kind)
    if kind is None:
        return ""  # loading it needs its kind, and says so
    if type(policy) is not kind.policy:
        return f"the policy is a {type(policy).__name__}, not a {kind.policy.__name__}"
    return find_difference(policy, make_twin(kind.policy, policy.config), "the policy")
