"""The policy: encoder and decoder, saving and loading."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from dynaroute.checksums import checksum_of
from dynaroute.errors import DynarouteError, FileError, ModelError, in_file
from dynaroute.files import read_bytes, write_bytes
from dynaroute.limits import LARGEST_SETTINGS
from dynaroute.model.card import ModelCard
from dynaroute.model.config import PolicyConfig
from dynaroute.model.decoder import Context, Decoder, Projections
from dynaroute.model.encoder import Encoder, encode_exactly
from dynaroute.model.packing import Packing
from dynaroute.model.state import RouteState
from dynaroute.weights import find_model

__all__ = ["FORMAT_VERSION", "KINDS", "Left", "Memory", "Policy", "PolicyKind", "fill_parameters"]

FORMAT_VERSION = 1

_FILES_REMEDY = "Keep config.json and weights together."

Part = TypeVar("Part", PolicyConfig, ModelCard)


class Left(NamedTuple):
    """The remaining nodes of S instances, as a policy sees them.

    Attributes
    ----------
    features
        (T, 3) position and demand / capacity of every node; each instance's depot comes first.
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
    def encodes_anew(self) -> bool:
        """Whether the remaining nodes are encoded at each return to the depot (eqs 22, 23), not only once."""
        return bool(self.config.dynamic)

    def fold(self) -> Tensor:
        """Compute once what is the same for all instances; passed to `begin`."""
        if self._forward_hooks or self._forward_pre_hooks:
            raise ModelError.about(
                "policy",
                "a policy is never called as a module, so its hooks would not run.",
                "Add the hook to its encoder.",
            )
        return self.decoder.fold()

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
        context = Context(graph_mean[:, None], state.previous[:, None], fraction[:, None])
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

        def describe(hashes: Iterable[str]) -> bytes:
            return (json.dumps({**description, "weights_sha256": list(hashes)}, indent=2) + "\n").encode()

        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in self.state_dict().items()}
        with in_file(target):
            try:
                target.mkdir(parents=True, exist_ok=True)
                weights = save(tensors)
                digest = checksum_of(weights)
                # a reader between two writes, or after a kill there, finds weights that match the description
                write_bytes(target / "config.json", describe([digest, *_hash_present(target)]))
                write_bytes(target / "model.safetensors", weights)
                write_bytes(target / "config.json", describe([digest]))
                write_bytes(target / "README.md", self.card.to_markdown(self.config, digest).encode())
            except (OSError, SafetensorError, ValueError) as error:  # ValueError: an invalid path
                reason = getattr(error, "strerror", None) or error
                raise FileError(f"cannot write the model: {reason}.", remedy="Choose a writable folder.") from error

    @classmethod
    def from_pretrained(cls, name: str | Path) -> Policy:
        """Load a shipped model by name, or your own from a folder.

        Parameters
        ----------
        name
            One of `shipped_models()`, or a folder written by `save_pretrained`.

        Returns
        -------
        Policy
            On the CPU, in evaluation mode.

        Raises
        ------
        ModelError
            If there is no such model, or its files are damaged, inconsistent or of a newer format.
        """
        folder = find_model(name)
        with in_file(folder / "config.json"):
            description = _parse_description(folder / "config.json")
        with in_file(folder / "model.safetensors"):
            weights = _read_weights(folder / "model.safetensors")
            with torch.device("meta"):  # only shapes, until the weights are checked
                policy = description.kind.policy(description.config, card=description.card)
            fill_parameters(policy, _parse_weights(weights))
            if not description.knows(weights):  # a training run may have saved a better model meanwhile
                description = _parse_description(folder / "config.json")
            if not description.knows(weights):
                raise ModelError.about(
                    "weights_sha256", "the hash in config.json does not match the weights.", _FILES_REMEDY
                )
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
# Kernels for each kind are listed in `dynaroute.construct.fused`, parallel replay in `dynaroute.training.replay`.
KINDS: dict[str, PolicyKind] = {
    "AM-D": PolicyKind(PolicyConfig, Policy),
    "AM": PolicyKind(PolicyConfig, Policy),
}


@dataclass(frozen=True)
class _Description:
    """The content of config.json. Models of version 0.1 have no hash; a model being saved has two."""

    kind: PolicyKind
    config: PolicyConfig
    card: ModelCard
    hashes: tuple[str, ...]

    def knows(self, weights: bytes) -> bool:
        """Whether the weights match a hash."""
        return not self.hashes or checksum_of(weights) in self.hashes


def _hash_present(folder: Path) -> list[str]:
    """Hash the weights in a folder, if any."""
    path = folder / "model.safetensors"
    return [checksum_of(read_bytes(path))] if path.is_file() and path.stat().st_size else []


def _parse_description(path: Path) -> _Description:
    try:
        content = read_bytes(path, LARGEST_SETTINGS)
    except DynarouteError as error:
        raise ModelError(
            f"cannot read the model's configuration: {error.message}", remedy="Is this a folder that Dynaroute saved?"
        ) from error
    try:
        description = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelError("the configuration is not JSON.", remedy="Save or copy the model again.") from error
    if not isinstance(description, dict) or "format_version" not in description:
        raise ModelError.about(
            "format_version", "this is not a Dynaroute model.", "Use a folder written by save_pretrained."
        )
    version = description["format_version"]
    if type(version) is not int or version < 1:
        raise ModelError.about("format_version", f"the format version is {version!r}.", "Save or copy the model again.")
    if version > FORMAT_VERSION:
        raise ModelError.about(
            "format_version",
            f"the model has format version {version}; this Dynaroute reads up to {FORMAT_VERSION}.",
            "Install a newer Dynaroute.",
        )
    settings = description.get("policy")
    is_static = isinstance(settings, dict) and settings.get("dynamic") is False
    name = description.get("kind", "AM" if is_static else "AM-D")  # files of version 0.1 have only `dynamic`
    if not isinstance(name, str) or name not in KINDS:
        raise ModelError.about(
            "kind", f"the kind of policy {name!r} is unknown.", f"Known kinds are {', '.join(KINDS)}."
        )
    if isinstance(settings, dict):
        settings = {**settings, "kind": name}
    kind = KINDS[name]
    hashes = description.get("weights_sha256", [])
    if not isinstance(hashes, list) or not all(isinstance(digest, str) for digest in hashes):
        raise ModelError.about("weights_sha256", "this is not a list of hashes.", "Save or copy the model again.")
    config, card = _build(kind.config, settings, "policy"), _build(ModelCard, description.get("card"), "card")
    return _Description(kind, config, card, tuple(hashes))


def _build(part: type[Part], values: object, field: str) -> Part:
    known = {entry.name for entry in fields(part)}
    if not isinstance(values, dict) or not set(values) <= known:
        raise ModelError.about(
            field, f"the part {field!r} is missing or holds unknown settings.", "Save or copy the model again."
        )
    return part(**values)


def _read_weights(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except DynarouteError as error:
        raise ModelError(
            f"the weights are missing, truncated or damaged: {error.message}", remedy="Save or copy the model again."
        ) from error


def _parse_weights(content: bytes) -> dict[str, Tensor]:
    try:
        return load(content)
    except (KeyError, SafetensorError, ValueError) as error:  # KeyError: an unknown dtype
        raise ModelError(
            "the weights are missing, truncated or damaged.", remedy="Save or copy the model again."
        ) from error


def fill_parameters(policy: Policy, tensors: dict[str, Tensor]) -> None:
    """Load parameters into a policy on the CPU, after checking them.

    Raises
    ------
    ModelError
        If a tensor is missing, unknown, of the wrong shape or dtype, or not finite.
    """
    expected = policy.state_dict()
    if set(tensors) != set(expected):
        odd = sorted(set(tensors) ^ set(expected))[0]
        raise ModelError.about(odd, "the weights do not match this configuration.", _FILES_REMEDY)
    sound = {name: _convert(name, tensor, expected[name]) for name, tensor in tensors.items()}
    policy.load_state_dict(sound, assign=True)  # no copy into empty parameters, which would import much of PyTorch


def _convert(name: str, tensor: Tensor, like: Tensor) -> Tensor:
    if tensor.shape != like.shape:
        raise ModelError.about(
            name, f"the weights have shape {tuple(tensor.shape)}, not {tuple(like.shape)}.", _FILES_REMEDY
        )
    is_plain = tensor.layout == torch.strided and not tensor.is_quantized
    if not is_plain or tensor.is_floating_point() != like.is_floating_point():
        raise ModelError.about(name, f"the weights have dtype {tensor.dtype}.", "Save or copy the model again.")
    converted = tensor.to(like.dtype).clone()  # a copy, because tensors in a file may share memory
    if not bool(converted.isfinite().all()):
        raise ModelError.about(name, "the weights are not finite.", "Save or copy the model again.")
    return converted
