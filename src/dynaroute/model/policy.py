"""The policy: encoder and decoder together, saved and loaded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from dynaroute.errors import DynarouteError, FileError, ModelError, Where, in_file
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

_TOGETHER = "Keep config.json and weights together."

Part = TypeVar("Part", PolicyConfig, ModelCard)


class Left(NamedTuple):
    """What is left of S instances: what a policy sees.

    Attributes
    ----------
    features
        (T, 3) position and demand / capacity of every node, the depot of an instance first.
    is_depot
        (T,) which of them are depots.
    packing
        The segments, one an instance.
    """

    features: Tensor
    is_depot: Tensor
    packing: Packing


class Memory(NamedTuple):
    """What an attention model knows while P vehicles drive.

    Attributes
    ----------
    projections
        Of the nodes.
    graph_sum, graph_count
        (P, d_h) and (P,): numerator and denominator of the graph's mean h̄_t.
    """

    projections: Projections
    graph_sum: Tensor
    graph_count: Tensor

    def take(self, rows: Tensor) -> Memory:
        """That of the (Q,) vehicles in `rows`; a vehicle may be asked for several times."""
        return Memory(self.projections.take(rows), self.graph_sum[rows], self.graph_count[rows])


class Policy(nn.Module):
    """p_θ of eq 1: a distribution over solutions, one node after the other.

    What builds routes knows of a policy only these: `fold` before anything else, `begin` when vehicles are to leave
    the depot (each time, if it `encodes_anew`, else once), then `logits` and `advance` at every step. Another kind
    of policy is a subclass that brings these of its own, and an entry in `KINDS`.

    Parameters
    ----------
    config
        Settings; the default is AM-D.
    generator
        Source of the initial parameters: uniform in ±1 / sqrt(fan-in), biases too.
    card
        What is known about how the parameters were found.
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
        """Name of the kind of policy, as in `KINDS`."""
        return self.config.kind

    @property
    def encodes_anew(self) -> bool:
        """Whether what is left is encoded at each return to the depot (eqs 22, 23), not only once."""
        return bool(self.config.dynamic)

    def fold(self) -> Tensor:
        """What is the same for all instances, computed once; `begin` gets it back."""
        if self._forward_hooks or self._forward_pre_hooks:
            raise _fault(
                "policy", "a policy is never called as a module, so its hooks would not run.", "Hook its encoder."
            )
        return self.decoder.fold()

    def begin(self, left: Left, folded: Tensor) -> Memory:
        """Eqs 2 to 13, 22: encode what is left, for vehicles that leave the depot."""
        return self._remember(self.encoder(*left), left, folded)

    def begin_exactly(self, left: Left, folded: Tensor) -> Memory:
        """`begin` with an exact encoder (`encode_exactly`), for comparisons."""
        return self._remember(encode_exactly(self.encoder, *left), left, folded)

    def logits(self, memory: Memory, state: RouteState) -> Tensor:
        """Eqs 12 to 19: (P, M) logits of the next node, minus infinity where it is not feasible."""
        graph_mean = memory.graph_sum / memory.graph_count[:, None]  # (P, d_h)
        fraction = state.remaining.to(graph_mean.dtype) / state.capacity.to(graph_mean.dtype)  # (P,)
        context = Context(graph_mean[:, None], state.previous[:, None], fraction[:, None])
        return self.decoder.logits(memory.projections, context, state.feasible()[:, None]).squeeze(1)

    def advance(self, memory: Memory, state: RouteState, chosen: Tensor) -> Memory:
        """What it knows after each vehicle went from its state to its (P,) chosen slot."""
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
        """Where the parameters are."""
        return next(self.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """Of the parameters."""
        return next(self.parameters()).dtype

    def _initialise(self, generator: torch.Generator) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                bound = module.in_features**-0.5
                for parameter in module.parameters(recurse=False):
                    nn.init.uniform_(parameter, -bound, bound, generator=generator)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json, model.safetensors and the model card README.md; the card has a hash of the weights.

        Parameters
        ----------
        folder
            Made if it is not there; files of the same names are replaced, each in one go.
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
                digest = sha256(weights).hexdigest()
                # whoever reads between two of these, or after a kill there, finds weights that the description knows
                write_bytes(target / "config.json", describe([digest, *_hash_present(target)]))
                write_bytes(target / "model.safetensors", weights)
                write_bytes(target / "config.json", describe([digest]))
                write_bytes(target / "README.md", self.card.to_markdown(self.config, digest).encode())
            except (OSError, SafetensorError, ValueError) as error:  # ValueError: a path that no system has
                reason = getattr(error, "strerror", None) or error
                raise FileError(f"cannot write the model: {reason}.", remedy="Choose a writable folder.") from error

    @classmethod
    def from_pretrained(cls, name: str | Path) -> Policy:
        """Load a shipped model by its name, or one's own by its folder.

        Parameters
        ----------
        name
            One of `shipped_models()`, or a folder that `save_pretrained` wrote.

        Returns
        -------
        Policy
            On the CPU, in evaluation mode.

        Raises
        ------
        ModelError
            If there is no such model, or its files are damaged, of another shape or of a newer format.
        """
        folder = find_model(name)
        with in_file(folder / "config.json"):
            description = _parse_description(folder / "config.json")
        with in_file(folder / "model.safetensors"):
            weights = _read_weights(folder / "model.safetensors")
            with torch.device("meta"):  # shapes alone, until the weights are known to have them
                policy = description.kind.policy(description.config, card=description.card)
            fill_parameters(policy, _parse_weights(weights))
            if not description.knows(weights):  # a run may have saved a better model since
                description = _parse_description(folder / "config.json")
            if not description.knows(weights):
                raise _fault("weights_sha256", "the weights are not those that config.json has the hash of.", _TOGETHER)
        return policy.eval()


class PolicyKind(NamedTuple):
    """A kind of policy: how it is configured and made. What else it offers stands where that is done.

    Attributes
    ----------
    config, policy
        The classes of its settings and of itself.
    """

    config: type[PolicyConfig]
    policy: type[Policy]


# `pointer.py` adds its own.
# Fused construction is offered by `dynaroute.construct.fused`, parallel replay by `dynaroute.training.replay`.
KINDS: dict[str, PolicyKind] = {
    "AM-D": PolicyKind(PolicyConfig, Policy),
    "AM": PolicyKind(PolicyConfig, Policy),
}


@dataclass(frozen=True)
class _Description:
    """What config.json says; a model of version 0.1 has no hash, and one that is just being saved has two."""

    kind: PolicyKind
    config: PolicyConfig
    card: ModelCard
    hashes: tuple[str, ...]

    def knows(self, weights: bytes) -> bool:
        """Whether these are the weights that it was written with."""
        return not self.hashes or sha256(weights).hexdigest() in self.hashes


def _hash_present(folder: Path) -> list[str]:
    """The hash of the weights that are in a folder, if there are any."""
    path = folder / "model.safetensors"
    return [sha256(read_bytes(path)).hexdigest()] if path.is_file() and path.stat().st_size else []


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
        raise _fault("format_version", "this is not a Dynaroute model.", "Use a folder written by save_pretrained.")
    version = description["format_version"]
    if type(version) is not int or version < 1:
        raise _fault("format_version", f"the format version is {version!r}.", "Save or copy the model again.")
    if version > FORMAT_VERSION:
        raise _fault(
            "format_version",
            f"the model has format version {version}; this Dynaroute reads up to {FORMAT_VERSION}.",
            "Install a newer Dynaroute.",
        )
    settings = description.get("policy")
    is_static = isinstance(settings, dict) and settings.get("dynamic") is False
    name = description.get("kind", "AM" if is_static else "AM-D")  # files of version 0.1 say `dynamic` alone
    if not isinstance(name, str) or name not in KINDS:
        raise _fault("kind", f"there is no kind of policy {name!r}.", f"Known are {', '.join(KINDS)}.")
    if isinstance(settings, dict):
        settings = {**settings, "kind": name}
    kind = KINDS[name]
    hashes = description.get("weights_sha256", [])
    if not isinstance(hashes, list) or not all(isinstance(digest, str) for digest in hashes):
        raise _fault("weights_sha256", "this is no list of hashes.", "Save or copy the model again.")
    config, card = _build(kind.config, settings, "policy"), _build(ModelCard, description.get("card"), "card")
    return _Description(kind, config, card, tuple(hashes))


def _build(part: type[Part], values: object, field: str) -> Part:
    known = {entry.name for entry in fields(part)}
    if not isinstance(values, dict) or not set(values) <= known:
        raise _fault(
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
    except (KeyError, SafetensorError, ValueError) as error:  # KeyError: a kind of numbers that is not known
        raise ModelError(
            "the weights are missing, truncated or damaged.", remedy="Save or copy the model again."
        ) from error


def fill_parameters(policy: Policy, tensors: dict[str, Tensor]) -> None:
    """Give a policy its parameters, on the CPU, if they are sound.

    Parameters
    ----------
    policy
        May be without storage yet.
    tensors
        One for each entry of its state dictionary.

    Raises
    ------
    ModelError
        If a tensor is missing, not known, of another shape or kind, or not finite.
    """
    expected = policy.state_dict()
    if set(tensors) != set(expected):
        odd = sorted(set(tensors) ^ set(expected))[0]
        raise _fault(odd, "the weights are not those of this configuration.", _TOGETHER)
    sound = {name: _convert(name, tensor, expected[name]) for name, tensor in tensors.items()}
    policy.load_state_dict(sound, assign=True)  # no copy into empty parameters, which would load half of PyTorch


def _convert(name: str, tensor: Tensor, like: Tensor) -> Tensor:
    if tensor.shape != like.shape:
        raise _fault(name, f"the weights have the shape {tuple(tensor.shape)}, not {tuple(like.shape)}.", _TOGETHER)
    is_plain = tensor.layout == torch.strided and not tensor.is_quantized
    if not is_plain or tensor.is_floating_point() != like.is_floating_point():
        raise _fault(name, f"the weights are of the kind {tensor.dtype}.", "Save or copy the model again.")
    converted = tensor.to(like.dtype).clone()  # in memory of its own: tensors of a file may share theirs
    if not bool(converted.isfinite().all()):
        raise _fault(name, "the weights are not finite.", "Save or copy the model again.")
    return converted


def _fault(field: str, message: str, remedy: str) -> ModelError:
    return ModelError(message, where=Where(field=field), remedy=remedy)
